//! What of nodes and groups this version does not carry out: refused by name, each with a remedy.

use super::super::report::Findings;
use super::super::tree::{Table, Value};

/// Keys of a group, and what to do without.
const OF_GROUPS: [(&str, &str); 1] = [("check", "take it out; the services' own checks decide")];

/// Reports what is not in this version in the tables of `root`.
pub(in crate::config) fn refuse(root: &Table, out: &mut Findings) {
    if let Some(entry) = root.find(&["cluster", "fence"]) {
        if matches!(&entry.node.value, Value::Text(word) if word == "board") {
            let finding = out.error(entry.node.place, "fence: \"board\" is not in this version");
            finding.label("{ command = [...] } can cut the other's power");
        }
    }
    let groups = root.get("group").and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    });
    for entry in groups.into_iter().flat_map(|table| &table.0) {
        let Value::Table(group) = &entry.node.value else { continue };
        if let Some(run) = group.get("run") {
            if matches!(&run.node.value, Value::Text(word) if word == "all") {
                let finding = out.error(run.node.place, "run: \"all\" is not in this version");
                finding.label("take it out; the services run where the group is active");
            }
        }
        for (key, remedy) in OF_GROUPS {
            if let Some(found) = group.get(key) {
                let message = format!("group.{}: `{key}` is not in this version", entry.key);
                out.error(found.place, message).label(remedy);
            }
        }
    }
}
