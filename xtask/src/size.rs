//! `cargo xtask size`: how much flash and RAM the libraries take on the board's processors.

use std::fs;
use std::process::ExitCode;

use crate::board::{BOARDS, Variant};
use crate::elf;
use crate::firmware::Report;
use crate::needs;
use crate::suggest;
use crate::thumb::{LIBRARIES, TARGETS, Toolchain};
use crate::workspace::show;

const HELP: &str = "\
cargo xtask size [--debian]

Builds core and firmware for the board's processors and prints their sizes in bytes, and then the
image of each board with what it takes of flash, RAM and stack. Fails where that is too much.
  --debian   build with Debian's compiler, even if ours has the targets
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let toolchain = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => needs::board_targets().and_then(|()| Toolchain::find()),
        ["--debian"] => needs::install(needs::For::Board).and_then(|()| Toolchain::debian()),
        ["-h" | "--help"] => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        [first, ..] => return suggest::usage("option", first, ["--debian"].into_iter()),
    };
    let done = toolchain.and_then(|toolchain| {
        TARGETS.iter().try_for_each(|target| toolchain.build(target))?;
        show(&table(toolchain)?);
        images(toolchain)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the image of each board and prints what they take.
///
/// # Errors
/// One does not build, or takes more than it may; all are tried.
pub(crate) fn images(toolchain: Toolchain) -> Result<(), String> {
    let mut text = format!("\n{}", Report::HEAD);
    let mut over = Vec::new();
    let all = Variant::ALL.into_iter().flat_map(|v| BOARDS.iter().map(move |board| (v, board)));
    for (variant, board) in all.filter(|(v, board)| Variant::of(board).any(|of| of == *v)) {
        match Report::build(toolchain, board, variant) {
            Ok(report) => {
                text += &report.line();
                over.extend(report.judge().err());
            }
            Err(why) => over.push(format!("{}: {why}", variant.name(board))),
        }
    }
    show(&text);
    if over.is_empty() { Ok(()) } else { Err(over.join("\nxtask: ")) }
}

/// The sizes of libraries that have been built.
///
/// # Errors
/// One cannot be read.
pub(crate) fn table(toolchain: Toolchain) -> Result<String, String> {
    let mut text = format!("\nbytes, {}\n", toolchain.describe());
    text += &format!("{:<20}{:<20}{:>8}{:>8}{:>8}\n", "TARGET", "PACKAGE", "TEXT", "DATA", "BSS");
    for target in TARGETS {
        for (package, file) in LIBRARIES {
            let path = toolchain.library(target, file);
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let sizes = elf::archive(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
            let (code, data, bss) = (sizes.text, sizes.data, sizes.bss);
            text += &format!("{target:<20}{package:<20}{code:>8}{data:>8}{bss:>8}\n");
        }
    }
    text += "Generic code counts where it is instantiated, which may be in neither library.\n";
    Ok(text)
}
