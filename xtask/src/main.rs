//! Development tasks: `cargo xtask VERB`.
fn main() {}
