//! Every combination of core's features, because nobody builds them all by hand.

use crate::workspace;

const MANIFEST: &str = "core/Cargo.toml";

/// The features core declares, `default` apart.
///
/// # Errors
/// The manifest cannot be read.
pub(crate) fn declared() -> Result<Vec<String>, String> {
    Ok(parse(&workspace::read(MANIFEST)?))
}

fn parse(manifest: &str) -> Vec<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[features]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .filter(|name| !name.starts_with('#') && *name != "default")
        .map(str::to_string)
        .collect()
}

/// All sets of these, joined with commas: the empty one first, the whole one last.
pub(crate) fn powerset(features: &[String]) -> Vec<String> {
    let sets = 0..1_u32 << features.len();
    sets.map(|set| {
        let chosen = features.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
        chosen.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(",")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_from_their_section_only() {
        let text = "[package]\nname = \"x\"\n\n[features]\ndefault = []\nserde = [\"dep:serde\"] # a\n# b = c\nrecord = []\n\n[dependencies]\nheapless = 1\n";
        assert_eq!(parse(text), ["serde", "record"]);
    }

    #[test]
    fn the_powerset_goes_from_nothing_to_everything() {
        let features = ["serde", "record"].map(str::to_string);
        assert_eq!(powerset(&features), ["", "serde", "record", "serde,record"]);
        assert_eq!(powerset(&[]), [""]);
    }
}
