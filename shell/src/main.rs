//! The `giveover` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    giveover::cli::main()
}
