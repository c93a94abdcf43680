//! `giveover preset`: what is prepared, and what it expands to.

use crate::config::preset;
use crate::config::words;

/// The presets there are, one a line.
#[must_use]
pub fn list() -> String {
    let width = preset::list().map(|(name, _)| name.len()).max().unwrap_or(0);
    preset::list().map(|(name, purpose)| format!("{name:width$}  {purpose}\n")).collect()
}

/// What the preset `name` expands to, to be read or pasted under a `[service.NAME]`.
///
/// # Errors
/// None is called that: the message, with the nearest name.
pub fn text(name: &str) -> Result<&'static str, String> {
    preset::text(name).ok_or_else(|| {
        let names = || preset::list().map(|(name, _)| name);
        match words::nearest(name, names()) {
            Some(near) => format!("no preset is called `{name}`; did you mean `{near}`?"),
            None => format!("no preset is called `{name}`; there are {}", words::and(names())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_listed_and_printed() {
        assert!(list().contains("xfnts  an X font server"), "{}", list());
        assert!(text("xfnts").is_ok_and(|text| text.contains("fsinfo")));
        assert_eq!(text("xfnt"), Err("no preset is called `xfnt`; did you mean `xfnts`?".into()));
    }
}
