//! The workspace as a place: its root, its target folder, its files, and the cargo that called us.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The members, each a folder at the root.
pub(crate) const MEMBERS: [&str; 5] = ["core", "shell", "firmware", "tests", "xtask"];

/// Whether this run is CI's, which forgives no skip that is not on the list of what CI lacks.
pub(crate) fn strict() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo xtask`; the compiled-in value serves a binary run by hand.
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(compiled_in, PathBuf::from);
    package.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn compiled_in() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A call of the cargo that started us, so that a chosen toolchain stays chosen.
pub(crate) fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new(cargo_path());
    command.args(args).current_dir(root());
    // cargo has set these for us. A build script that asks for them would run again, and what depends
    // on it be built anew, for each build that is started from here and each that is not.
    for (name, _) in env::vars_os() {
        let ours =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    command
}

fn cargo_path() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What a command prints on its standard output, or `None` when it fails or cannot run.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The target folder, wherever the environment or a cargo configuration has put it.
pub(crate) fn target_dir() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let mut command = cargo(["metadata", "--no-deps", "--format-version", "1"]);
            output(&mut command)
                .and_then(|json| {
                    let (_, rest) = json.split_once("\"target_directory\":\"")?;
                    rest.split_once('"').map(|(path, _)| PathBuf::from(path))
                })
                .unwrap_or_else(|| root().join("target"))
        })
        .clone()
}

/// Every Rust file below `folder` of the root, in name order; build output and dot folders apart.
pub(crate) fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with("target") && !name.starts_with('.') {
                walk(&path, found);
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// A path as the reader knows it: from the root.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Reads a file of the workspace, with an error that names it.
pub(crate) fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Where a program is, if it is installed. Servers live in folders that a person's PATH may lack.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Prints a listing. A reader that closes the pipe early, such as `head`, is no error.
pub(crate) fn show(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
