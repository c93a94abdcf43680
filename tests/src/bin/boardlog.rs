//! `boardlog IMAGE`: the lines of log of a board, whose bytes come on standard input, as text. The
//! words are in the image's ELF file, which must be the one that runs.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use giveover_tests::vm::lines::Lines;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("boardlog IMAGE <BYTES");
        return ExitCode::from(2);
    };
    let lines = std::fs::read(&path).map_err(|error| error.to_string());
    let mut lines = match lines.and_then(|elf| Lines::of(&elf)) {
        Ok(lines) => lines,
        Err(error) => {
            eprintln!("boardlog: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    };
    let mut bytes = [0; 1024];
    while let Ok(length) = std::io::stdin().read(&mut bytes) {
        if length == 0 {
            break;
        }
        for line in lines.hear(&bytes[..length]) {
            if writeln!(std::io::stdout(), "log     {line}").is_err() {
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}
