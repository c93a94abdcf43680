//! The licences of everything we build with: permissive, or MPL-2.0.

use crate::spdx;
use crate::workspace;

/// What a dependency may ask of those who use us. MPL-2.0 asks only for its own files.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// How many packages were looked at.
///
/// # Errors
/// Every package whose licence does not do, or cargo's failure to list them.
pub(crate) fn check() -> Result<usize, Vec<String>> {
    let mut tree =
        workspace::cargo(["tree", "--workspace", "--prefix", "none", "--format", "{p}|{l}"]);
    let text = workspace::output(&mut tree)
        .ok_or_else(|| vec![format!("{} failed", crate::child::shown(&tree))])?;
    let mut packages: Vec<&str> =
        text.lines().map(|line| line.trim_end_matches(" (*)")).filter(|l| !l.is_empty()).collect();
    packages.sort_unstable();
    packages.dedup();
    let offenders: Vec<String> = packages.iter().filter_map(|line| offence(line)).collect();
    if offenders.is_empty() { Ok(packages.len()) } else { Err(offenders) }
}

/// What is wrong with a line `NAME vVERSION|LICENCE`, if anything is.
fn offence(line: &str) -> Option<String> {
    let (package, licence) = line.split_once('|').unwrap_or((line, ""));
    if licence.trim().is_empty() {
        return Some(format!("{package}: names no licence"));
    }
    match spdx::met(licence, &ALLOWED) {
        Ok(true) => None,
        Ok(false) => Some(format!("{package}: `{licence}` is not on the list in licences.rs")),
        Err(error) => Some(format!("{package}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offender_is_named_with_its_licence() {
        assert_eq!(offence("a v1.0.0|MIT OR Apache-2.0"), None);
        assert!(offence("b v1.0.0|AGPL-3.0").is_some_and(|text| text.contains("b v1.0.0")));
        assert!(offence("c v1.0.0|").is_some_and(|text| text.contains("names no licence")));
    }
}
