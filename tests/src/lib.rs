//! End-to-end tests of Giveover live in `tests/`; this library holds what they share.
