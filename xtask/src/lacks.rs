//! What CI lacks, and so the only reasons for which a test may be skipped there.

use crate::entries;
use crate::workspace;

/// The list, at the root of the workspace.
pub(crate) const FILE: &str = "tests/ci-lacks.toml";

/// Something that was not run: its name, and why.
///
/// A test says so with a line `skipped: NAME: why`. One of the fields between the colons must be
/// a name of the list, as in `skipped: a_lossy_link: netem: no such qdisc`; the rest is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The test or step.
    pub(crate) name: String,
    /// The reason, as it was said.
    pub(crate) why: String,
}

impl Skip {
    /// Reads a line of a test's output.
    pub(crate) fn parse(line: &str) -> Option<Skip> {
        let (name, why) = line.trim().strip_prefix("skipped:")?.split_once(':')?;
        let (name, why) = (name.trim().to_string(), why.trim().to_string());
        (!name.is_empty() && !why.is_empty()).then_some(Skip { name, why })
    }
}

/// The list, read.
#[derive(Debug, Default)]
pub(crate) struct Lacks(Vec<(String, String)>);

impl Lacks {
    /// Reads [`FILE`].
    pub(crate) fn load() -> Result<Lacks, String> {
        Lacks::parse(&workspace::read(FILE)?).map_err(|error| format!("{FILE}: {error}"))
    }

    fn parse(text: &str) -> Result<Lacks, String> {
        let mut list = Vec::new();
        for entry in entries::parse(text, "lack")? {
            list.push((entry.value("name")?.to_string(), entry.value("reason")?.to_string()));
        }
        Ok(Lacks(list))
    }

    /// Whether this skip is for something on the list.
    pub(crate) fn allow(&self, skip: &Skip) -> bool {
        let mut fields = skip.why.split(':').chain([skip.name.as_str()]).map(str::trim);
        fields.any(|field| self.0.iter().any(|(name, _)| name == field))
    }

    /// Names with their reasons, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks() -> Lacks {
        Lacks::parse("[[lack]]\nname = \"netem\"\nreason = \"not in the kernel\"\n").unwrap()
    }

    #[test]
    fn a_skip_names_what_is_lacking_in_a_field_of_its_own() {
        for line in [
            "skipped: netem: no such qdisc",
            "skipped: a_lossy_link: netem",
            "  skipped: a_lossy_link: netem: no such qdisc",
        ] {
            assert!(lacks().allow(&Skip::parse(line).unwrap()), "{line}");
        }
    }

    #[test]
    fn a_skip_for_another_reason_is_not_allowed() {
        for line in ["skipped: a_lossy_link: netem is slow", "skipped: redis: not installed"] {
            assert!(!lacks().allow(&Skip::parse(line).unwrap()), "{line}");
        }
    }

    #[test]
    fn a_line_without_a_reason_is_no_skip() {
        for line in ["skipped: netem", "skipped: :", "it was skipped: a: b", "skipped: a: "] {
            assert_eq!(Skip::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_list_in_the_workspace_reads() {
        assert!(Lacks::load().is_ok_and(|lacks| lacks.iter().count() > 0));
    }
}
