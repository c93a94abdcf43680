//! Images without frame pointers.
//!
//! For the board's processors rustc makes every function keep a pointer to its frame, and no option
//! of its takes that back. Nobody walks the stack of a board, and the pointer takes one of the four
//! registers that a Cortex-M0 function can keep values in. LLVM gives attributes to functions that a
//! file names: so an image is built to learn the names, and then once more with such a file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::image;

/// What LLVM says of a name that is in another crate than the one it compiles: of nearly all.
const ELSEWHERE: &str = "Function in CSV file at line ";

/// Runs `command`, which builds what was `built` before, so that it has no frame pointers.
///
/// # Errors
/// The image cannot be read, the file of names not be written or named, or it does not build.
pub(crate) fn build_without(command: &mut Command, built: &Path) -> Result<(), String> {
    let name = |path: &Path| path.display().to_string();
    let bytes = fs::read(built).map_err(|error| format!("{}: {error}", name(built)))?;
    let names = image::names(&bytes).map_err(|why| format!("{}: {why}", name(built)))?;
    let file = write(&text(&names), built)?;
    // LLVM's arguments are split at spaces.
    let path = file.to_str().filter(|path| !path.contains(char::is_whitespace));
    let path = path.ok_or_else(|| format!("{}: a path with spaces in it", name(&file)))?;
    command.env("CARGO_ENCODED_RUSTFLAGS", format!("-Cllvm-args=-forceattrs-csv-path={path}"));
    let log = built.with_extension("log");
    let said = File::create(&log).map_err(|error| format!("{}: {error}", name(&log)))?;
    child::run(command.stderr(said)).map_err(|why| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let said = said.lines().filter(|line| !line.starts_with(ELSEWHERE));
        said.map(|line| format!("{line}\n")).collect::<String>() + &why
    })
}

fn text(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("{name},frame-pointer=none\n")).collect()
}

/// Named by what is in it, so that cargo sees when that changes.
fn write(text: &str, built: &Path) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let path = built.with_extension(format!("{:016x}.csv", hash.finish()));
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_function() {
        let names = ["two", "one"].map(str::to_string).into();
        assert_eq!(text(&names), "one,frame-pointer=none\ntwo,frame-pointer=none\n");
        assert_eq!(text(&BTreeSet::new()), "");
    }
}
