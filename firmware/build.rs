//! Gives the linker the memory of the board that is built; for the host there is nothing to do.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

const BOARDS: [&str; 3] = ["lm3s6965evb", "microbit", "rp-pico"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=boards");
    if env::var("CARGO_CFG_TARGET_OS")? != "none" {
        return Ok(());
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let chosen = |board: &&str| {
        let name = board.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    };
    if let Some(board) = BOARDS.into_iter().find(chosen) {
        fs::copy(format!("boards/{board}.x"), out.join("memory.x"))?;
        // Every vector is named in the board's file.
        fs::write(out.join("device.x"), "")?;
        println!("cargo::rustc-link-search={}", out.display());
        println!("cargo::rustc-link-arg-bins=-Tlink.x");
        if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
            println!("cargo::rustc-link-arg-bins=-Tdefmt.x");
        }
        println!("cargo::rustc-link-arg-bins=--nmagic");
        // Functions alike are one; nobody compares their addresses.
        println!("cargo::rustc-link-arg-bins=--icf=all");
        // A hash of the image in the image itself, eight bytes long.
        println!("cargo::rustc-link-arg-bins=--build-id=fast");
    }
    Ok(())
}
