//! `cargo xtask flash`: a real board gets its image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::board::{self, Board, Variant};
use crate::child;
use crate::firmware::{self, Report};
use crate::suggest;
use crate::uf2;
use crate::workspace::{output, program, relative, show};

const HELP: &str = "\
cargo xtask flash --board NAME [--shadow] [--dry]

Builds the image of a board and gives it to one that is plugged in: by probe-rs where a debug probe
is, else by the drive that the board shows, else it prints what is left to do.
  --board NAME   microbit or rp-pico
  --shadow       with the shadows of the host's monitors, for `shadow = true`
  --log          with each note as a line of log (defmt), on a UART of its own
  --dry          build, and print what would be done
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut words = args.iter().map(String::as_str);
    let (mut chosen, mut dry, mut variant) = (None, false, Variant::Plain);
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => {
                show(HELP);
                return ExitCode::SUCCESS;
            }
            "--board" => match words.next().map(|name| (name, board::named(name))) {
                Some((_, Some(board))) => chosen = Some(board),
                Some((name, None)) => return firmware::unknown(name),
                None => return firmware::unknown(""),
            },
            "--dry" => dry = true,
            "--shadow" => variant = Variant::Shadow,
            "--log" => variant = Variant::Log,
            other => {
                let known = ["--board", "--shadow", "--log", "--dry"];
                return suggest::usage("option", other, known.into_iter());
            }
        }
    }
    let Some(board) = chosen else { return firmware::unknown("") };
    if Variant::of(board).all(|of| of != variant) {
        eprintln!("xtask: {} has no UART beside the link: no log", board.name);
        return ExitCode::FAILURE;
    }
    match flash(board, variant, dry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn flash(board: &'static Board, variant: Variant, dry: bool) -> Result<(), String> {
    let Some(real) = &board.real else {
        return Err(format!("nobody can flash {}: it is emulated only", board.name));
    };
    let report = Report::build(firmware::toolchain(false)?, board, variant)?;
    report.judge()?;
    let file = file(board, &report.path)?;
    if let Some(probe) = program("probe-rs").filter(|_| has_probe()) {
        let mut command = Command::new(probe);
        command.args(["download", "--chip", real.chip, "--verify"]).arg(&report.path);
        if dry {
            show(&format!("would run: {command:?}\n"));
            return Ok(());
        }
        return child::run(&mut command);
    }
    let drive = drives(&fs::read_to_string("/proc/mounts").unwrap_or_default(), real.drive);
    match (drive, file) {
        (Some(drive), Some(file)) => {
            let to = drive.join(file.file_name().unwrap_or_default());
            show(&format!("cp {} {}\n", relative(&file), to.display()));
            if dry {
                return Ok(());
            }
            let copied = fs::copy(&file, &to).map(|_| ());
            copied.map_err(|error| format!("{}: {error}", to.display()))
        }
        (_, Some(file)) => Err(format!(
            "no debug probe, and no drive {} is mounted.\n{}\nThen run this again, or:\n  cp {} \
             /path/to/{}",
            real.drive,
            real.how,
            relative(&file),
            real.drive
        )),
        (_, None) => Err(format!(
            "no debug probe (or no probe-rs), and nothing to make the drive's file with.\n{}\n  \
             arm-none-eabi-objcopy -O ihex {} {}.hex",
            real.how,
            relative(&report.path),
            board.name
        )),
    }
}

/// The file that the board's drive takes, beside the image; `None` where no tool here makes it.
fn file(board: &Board, image: &Path) -> Result<Option<PathBuf>, String> {
    if board.real.as_ref().is_some_and(|real| real.uf2) {
        return made_uf2(image).map(Some);
    }
    let tools = ["arm-none-eabi-objcopy", "llvm-objcopy"];
    let Some(tool) = tools.into_iter().find_map(program) else { return Ok(None) };
    let to = image.with_extension("hex");
    child::run(Command::new(tool).args(["-O", "ihex"]).arg(image).arg(&to))?;
    Ok(Some(to))
}

/// Makes the UF2 file beside an image.
///
/// # Errors
/// The image cannot be read, or the file not be written.
pub(crate) fn made_uf2(image: &Path) -> Result<PathBuf, String> {
    let to = image.with_extension("uf2");
    let bytes = fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
    fs::write(&to, uf2::of(&bytes)?).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to)
}

fn has_probe() -> bool {
    let listed = program("probe-rs").and_then(|probe| output(Command::new(probe).arg("list")));
    listed.is_some_and(|text| !text.contains("No debug probes"))
}

/// Where a drive of that name is mounted.
fn drives(mounts: &str, name: &str) -> Option<PathBuf> {
    let places = mounts.lines().filter_map(|line| line.split_whitespace().nth(1));
    places.map(PathBuf::from).find(|place| place.file_name().is_some_and(|last| last == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_found_by_its_name_and_no_other() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /media/me/RPI-RP2 vfat rw 0 0\n";
        assert_eq!(drives(mounts, "RPI-RP2"), Some(PathBuf::from("/media/me/RPI-RP2")));
        assert_eq!(drives(mounts, "MICROBIT"), None);
        assert_eq!(drives("", "RPI-RP2"), None);
    }
}
