//! Licence expressions, as package manifests write them.

/// Whether an expression such as `MIT OR (Apache-2.0 AND Unicode-3.0)` can be met with the
/// licences of `allowed` alone. The old `MIT/Apache-2.0` means OR.
///
/// # Errors
/// The expression cannot be read.
pub(crate) fn met(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    match either(&mut rest, allowed) {
        Some(met) if rest.is_empty() => Ok(met),
        _ => Err(format!("cannot read the licence `{expression}`")),
    }
}

fn either(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut met = both(rest, allowed)?;
    while take(rest, "OR") {
        met |= both(rest, allowed)?;
    }
    Some(met)
}

fn both(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut met = one(rest, allowed)?;
    while take(rest, "AND") {
        met &= one(rest, allowed)?;
    }
    Some(met)
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let met = either(rest, allowed)?;
        return take(rest, ")").then_some(met);
    }
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    if ["OR", "AND", "WITH", ")"].contains(first) {
        return None;
    }
    if !take(rest, "WITH") {
        return Some(allowed.contains(first));
    }
    // An exception only ever adds rights, so the licence itself decides.
    let (_, behind) = rest.split_first()?;
    *rest = behind;
    Some(allowed.contains(first))
}

fn take<'a>(rest: &mut &[&'a str], word: &'a str) -> bool {
    let Some(behind) = rest.strip_prefix(&[word]) else { return false };
    *rest = behind;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: [&str; 3] = ["MIT", "Apache-2.0", "Unicode-3.0"];

    #[test]
    fn or_needs_one_and_needs_all() {
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT/GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("GPL-3.0 OR MIT AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ] {
            assert_eq!(met(expression, &ALLOWED), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for expression in ["", "MIT OR", "(MIT", "MIT MIT", "AND MIT", "MIT WITH"] {
            assert!(met(expression, &ALLOWED).is_err(), "{expression}");
        }
    }
}
