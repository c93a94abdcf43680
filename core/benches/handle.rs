//! Time of one `handle`.
fn main() {}
