//! Service fault monitor for Linux.
