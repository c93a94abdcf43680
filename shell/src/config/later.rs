//! What the documents have and this version has not: refused by name, each with a remedy.

use super::report::Findings;
use super::tree::{Entry, Table};

/// Tables of later versions, and what to do without.
const TABLES: [(&str, &str); 3] = [
    ("cluster", "take it out; on a single node `[giveover] command` hands a service over"),
    ("node", "take it out; this version runs on a single node"),
    ("group", "take it out; each service is given over by itself"),
];

/// Reports tables of later versions in `root` and takes them out, one message each. `cluster` is
/// what `[cluster]` would come to, a line each.
pub(super) fn take_tables(root: &mut Table, cluster: &[String], out: &mut Findings) {
    for (name, remedy) in TABLES {
        if let Some(Entry { place, .. }) = root.remove(name) {
            let finding = out.error(place, format!("[{name}] is not in this version"));
            finding.label(remedy);
            if name == "cluster" {
                for line in cluster {
                    finding.note(line.as_str());
                }
            }
        }
    }
}

/// Destinations of later versions, and what to do without.
pub(super) fn destination(word: &str) -> Option<&'static str> {
    match word {
        "node" => Some("\"command\" with [giveover] command can reach another node"),
        _ => None,
    }
}
