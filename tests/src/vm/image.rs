//! The image of a board: built, its symbols, and made to stay awake.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use super::Kind;

/// Images by board, and whether they shadow and log: where each is, and the bound of its stack.
type Built = HashMap<(&'static str, bool, bool), (PathBuf, u32)>;

/// The image of a board, built by `cargo xtask firmware`, which knows the compilers that can.
///
/// # Panics
/// It cannot be built, or does not keep its bounds.
pub(super) fn image(kind: Kind) -> (PathBuf, u32) {
    static BUILT: OnceLock<Mutex<Built>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Default::default).lock().expect("a builder before us");
    let build = || {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let mut command = Command::new(cargo);
        command.args(["xtask", "firmware", "--board", kind.name]).current_dir(&root);
        command.args(kind.shadow.then_some("--shadow")).args(kind.log.then_some("--log"));
        let output = command.output().expect("cargo");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "no image for {}: {text}{error}", kind.name);
        let line = text.lines().find(|line| line.starts_with(kind.name)).expect("its sizes");
        let bound = line.split_whitespace().rev().nth(1).and_then(|bytes| bytes.parse().ok());
        let path = root.join(text.lines().last().expect("the image's path"));
        (path, bound.expect("a stack bound"))
    };
    built.entry((kind.name, kind.shadow, kind.log)).or_insert_with(build).clone()
}

/// The image with its one `wfi` made a `nop`.
///
/// # Panics
/// There is not exactly one.
pub(super) fn unslept(mut elf: Vec<u8>) -> Vec<u8> {
    // With the `dsb` before it: half of a long branch may look like a `wfi` alone.
    const SLEEP: [u8; 6] = [0xBF, 0xF3, 0x4F, 0x8F, 0x30, 0xBF];
    let places = (0..elf.len()).step_by(2).filter(|at| elf[*at..].starts_with(&SLEEP));
    let places: Vec<usize> = places.collect();
    let [at] = places[..] else { panic!("an image sleeps in one place: {places:?}") };
    elf[at + 4..at + 6].copy_from_slice(&[0x00, 0xBF]);
    elf
}

/// The symbols of an ELF file of 32 bits.
pub(super) fn symbols(elf: &[u8]) -> Option<HashMap<String, u32>> {
    let word = |at: usize| Some(u32::from_le_bytes(elf.get(at..at + 4)?.try_into().ok()?) as usize);
    let half = |at: usize| Some(u16::from_le_bytes(elf.get(at..at + 2)?.try_into().ok()?) as usize);
    let (table, size, count) = (word(32)?, half(46)?, half(48)?);
    let mut found = HashMap::new();
    for section in (0..count).map(|index| table + index * size) {
        if word(section + 4)? != 2 {
            continue;
        }
        let names = word(table + word(section + 24)? * size + 16)?;
        let (from, length) = (word(section + 16)?, word(section + 20)?);
        for symbol in (from..from + length).step_by(16) {
            let name = elf.get(names + word(symbol)?..)?.split(|byte| *byte == 0).next()?;
            found.insert(String::from_utf8_lossy(name).into_owned(), word(symbol + 4)? as u32);
        }
    }
    Some(found)
}
