//! Gives the program's functions their places (see `layout.ld`), where the linker can.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // In other profiles the order of functions is not worth a thought.
    if gnu && is("PROFILE", "release") {
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let script = Path::new(&package).join("layout.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}
