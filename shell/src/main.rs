//! The `giveover` command.
fn main() {}
