//! The functions of a program, and the names under which a linker script finds them again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Where each function begins, counted from the begin of the program, and what it is called.
pub(crate) struct Names(BTreeMap<u64, Vec<String>>);

impl Names {
    /// Reads them with `nm`.
    ///
    /// # Errors
    /// There is no `nm`, or it finds none: the program was stripped.
    pub(crate) fn of(program: &Path) -> Result<Self, String> {
        let run = Command::new("nm").arg(program).output();
        let output = run.map_err(|error| format!("nm (package binutils): {error}"))?;
        let mut names = BTreeMap::<u64, Vec<String>>::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut words = line.split(' ');
            let [Some(address), Some(kind), Some(name)] = [(); 3].map(|()| words.next()) else {
                continue;
            };
            // `_start` and what else is not a function of Rust stays where the linker has it.
            let rust = name.starts_with("_R") || name.starts_with("_ZN");
            if let (Ok(address), true) =
                (u64::from_str_radix(address, 16), "tTwW".contains(kind) && rust)
            {
                names.entry(address).or_default().push(name.to_owned());
            }
        }
        if names.is_empty() {
            return Err(format!("{} names no functions", program.display()));
        }
        Ok(Self(names))
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.keys().copied()
    }

    pub(crate) fn patterns(&self, called: &BTreeSet<u64>) -> BTreeSet<String> {
        let names = called.iter().filter_map(|address| self.0.get(address)).flatten();
        names.map(|name| pattern(name)).collect()
    }
}

/// A name without what changes with the compiler and with each change of the source: the hash at the
/// end of the older spelling (`17h` and 16 digits), that of a crate in the newer (`Cs…_`).
fn pattern(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    let name = name.replace('$', "?");
    if let Some(at) = name.rfind("17h") {
        if name.len() == at + 20 && name.ends_with('E') {
            return format!("{}*", &name[..at + 3]);
        }
    }
    let mut pattern = String::new();
    let mut rest = name.as_str();
    while let Some((head, tail)) = rest.split_once("Cs") {
        pattern.push_str(head);
        pattern.push_str("Cs");
        rest = tail;
        if let Some((hash, behind)) = tail.split_once('_') {
            let is_name = behind.starts_with(|first: char| first.is_ascii_digit());
            if is_name && hash.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                pattern.push('*');
                rest = &tail[hash.len()..];
            }
        }
    }
    pattern + rest
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn hashes_are_left_out() {
        for (name, wanted) in [
            ("_ZN8giveover6daemon4turn17hf74d898da9889ad4E", "_ZN8giveover6daemon4turn17h*"),
            ("_ZN39_$LT$a..B$GT$1c17hf74d898da9889ad4E", "_ZN39_?LT?a..B?GT?1c17h*"),
            (
                "_RNvNtNtCsjrHSEGnQ3l9_3std3sys9try_statxCsgEmfK2I1SDS_4core",
                "_RNvNtNtCs*_3std3sys9try_statxCs*_4core",
            ),
            ("_RNvC3std3run.llvm.123", "_RNvC3std3run"),
        ] {
            assert_eq!(pattern(name), wanted);
        }
    }
}
