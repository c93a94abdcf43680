//! Core and firmware on the board's processors, by whichever compiler can build for them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board::{Board, Variant};
use crate::child;
use crate::features;
use crate::frames;
use crate::needs::{self, For};
use crate::workspace::{self, cargo, output, target_dir};

/// Cortex-M0 and Cortex-M3.
pub(crate) const TARGETS: [&str; 2] = ["thumbv6m-none-eabi", "thumbv7m-none-eabi"];

/// The packages that run there, and the names of their libraries.
pub(crate) const LIBRARIES: [(&str, &str); 2] = [
    ("giveover-core", "libgiveover_core.rlib"),
    ("giveover-firmware", "libgiveover_firmware.rlib"),
];

/// Who builds for the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The one that runs us, which has `core` for the targets.
    Own,
    /// Debian's, which builds `core` from its source and links with Debian's `ld.lld`.
    Debian,
}

/// Whether our own compiler has `core` for every target.
pub(crate) fn own_targets() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    TARGETS.iter().all(|target| {
        let mut ask = Command::new(&rustc);
        let libdir = output(ask.args(["--print", "target-libdir", "--target", target]));
        libdir.is_some_and(|path| Path::new(path.trim()).is_dir())
    })
}

impl Toolchain {
    /// The one to use, or what is missing.
    pub(crate) fn find() -> Result<Toolchain, String> {
        if own_targets() {
            return Ok(Toolchain::Own);
        }
        Toolchain::debian()
    }

    /// Debian's, or what of it is missing.
    pub(crate) fn debian() -> Result<Toolchain, String> {
        let missing = needs::missing(For::Board);
        if missing.is_empty() {
            return Ok(Toolchain::Debian);
        }
        let names: Vec<&str> = missing.iter().map(|package| package.brings()).collect();
        Err(format!(
            "no compiler for the board: run `rustup target add {}` (or install {})",
            TARGETS.join(" "),
            names.join(", ")
        ))
    }

    /// Which it is, for the reader.
    pub(crate) fn describe(self) -> String {
        let version = match self {
            Toolchain::Own => output(cargo(["--version"]).arg("-q")),
            Toolchain::Debian => output(Command::new("/usr/bin/cargo").arg("--version")),
        };
        let who = match self {
            Toolchain::Own => "the installed targets",
            Toolchain::Debian => "Debian's compiler, with `core` built from source",
        };
        format!("built by {who} ({})", version.unwrap_or_default().trim())
    }

    /// Where its libraries come to lie.
    fn target_dir(self) -> PathBuf {
        match self {
            Toolchain::Own => target_dir(),
            // Apart, or two compilers would throw out each other's work.
            Toolchain::Debian => target_dir().join("debian-board"),
        }
    }

    fn cargo(self, verb: &str, target: &str) -> Command {
        let mut command = self.plain(verb);
        // With thin LTO a library holds bitcode, in which there is nothing to measure.
        command.env("CARGO_PROFILE_RELEASE_LTO", "off");
        command.args(["--release", "--target", target]);
        command
    }

    fn plain(self, verb: &str) -> Command {
        let mut command = match self {
            Toolchain::Own => cargo([verb]),
            Toolchain::Debian => {
                let mut command = Command::new("/usr/bin/cargo");
                command.arg(verb).arg("-Zbuild-std=core").current_dir(workspace::root());
                command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", "/usr/bin/rustc");
                command.env("CARGO_TARGET_DIR", self.target_dir());
                for target in TARGETS {
                    let name = target.to_uppercase().replace('-', "_");
                    command.env(format!("CARGO_TARGET_{name}_LINKER"), "ld.lld");
                }
                // `cargo run`, which started us, points this at the other compiler's libraries.
                command.env_remove("LD_LIBRARY_PATH");
                command
            }
        };
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// Builds both libraries, and proves that core with all its features needs no std.
    pub(crate) fn build(self, target: &str) -> Result<(), String> {
        let packages = LIBRARIES.iter().flat_map(|(package, _)| ["--package", *package]);
        child::run(self.cargo("build", target).args(packages))?;
        let all = features::declared()?.join(",");
        let mut check = self.cargo("check", target);
        child::run(check.args(["--package", "giveover-core", "--features", &all]))
    }

    /// Builds the image of a board, and says where it is.
    pub(crate) fn image(self, board: &Board, variant: Variant) -> Result<PathBuf, String> {
        child::run(&mut self.on_image("build", board, variant))?;
        let folder = self.target_dir().join(board.target).join("firmware");
        let (made, path) = (folder.join(board.name), folder.join(variant.name(board)));
        frames::build_without(&mut self.on_image("build", board, variant), &made)?;
        if made != path {
            // Cargo knows one image of a name, and writes over it for the next.
            let copied = fs::copy(&made, &path);
            copied.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(path)
    }

    fn on_image(self, verb: &str, board: &Board, variant: Variant) -> Command {
        let mut command = self.plain(verb);
        command.args(["--package", "giveover-firmware", "--profile", "firmware"]);
        command.args(["--target", board.target, "--bin", board.name]);
        command.args(["--features", &variant.features(board)]);
        command
    }

    /// The lints on the image of a board, where the compiler that runs us can build it.
    pub(crate) fn clippy(self, board: &Board, variant: Variant) -> Result<(), String> {
        if self == Toolchain::Debian {
            return Ok(());
        }
        let mut command = self.on_image("clippy", board, variant);
        child::run(command.args(["--", "-D", "warnings"]))
    }

    /// The file of a library that [`Toolchain::build`] has built.
    pub(crate) fn library(self, target: &str, file: &str) -> PathBuf {
        self.target_dir().join(target).join("release").join(file)
    }
}
