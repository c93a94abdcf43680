//! Names of services, checks and policies.

use super::report::Findings;
use super::tree::Entry;
use super::words;

/// Says so if the key of `entry` cannot name a `what`.
pub(super) fn check(what: &str, entry: &Entry, out: &mut Findings) {
    if words::is_name(&entry.key) {
        return;
    }
    let length = entry.key.chars().count();
    let message = match length {
        0 => format!("the {what}'s name is empty"),
        1..=words::LONGEST_NAME => format!("`{}` cannot name a {what}", entry.key),
        _ => format!("a {what}'s name of {length} characters is too long"),
    };
    out.error(entry.place, message).label("names are 1 to 64 of A-Z a-z 0-9 _ - . @ :");
}
