//! The floors of core and shell: a file uses floors below its own, never above and not sideways.
//!
//! A cycle between modules compiles without a word; this is what keeps the house one that can be
//! read from the ground up.

use crate::source::{self, Line};
use crate::workspace;

/// A package's folder, and its modules by floor, from the ground up.
type House = (&'static str, &'static [&'static [&'static str]]);

/// The plan. A new module gets its place here and in ARCHITECTURE.md's map.
const HOUSES: [House; 2] = [
    (
        "core/src",
        &[
            &["node", "time", "weight", "defect"],
            &["ring", "bytes"],
            &["failure", "policy"],
            &["history"],
            &["verdict", "host"],
            &["monitor", "ladder", "arbiter", "peer", "claim", "pool", "share", "board"],
            &["wire", "record", "shadow"],
        ],
    ),
    (
        "shell/src",
        &[
            &["clock", "message", "config"],
            &["key", "reactor", "machine", "netlink"],
            &["check", "service", "pool", "cluster", "board", "journal", "report"],
            &["daemon", "sim"],
            &["cli"],
        ],
    ),
];

/// Looks at every file; each complaint names file and line.
pub(crate) fn complaints() -> Vec<String> {
    let mut found = Vec::new();
    for (folder, floors) in HOUSES {
        for path in workspace::rust_files(folder) {
            let path = workspace::relative(&path);
            match workspace::read(&path) {
                Ok(text) => found.extend(judge(folder, floors, &path, &text)),
                Err(error) => found.push(error),
            }
        }
    }
    found
}

fn judge(folder: &str, floors: &[&[&str]], path: &str, text: &str) -> Vec<String> {
    let inside = path.trim_start_matches(folder).trim_start_matches('/').trim_end_matches(".rs");
    let steps: Vec<&str> = inside.split('/').filter(|step| *step != "mod").collect();
    let own = steps[0];
    if ["lib", "main", "bin"].contains(&own) {
        return vec![];
    }
    let floor_of = |module: &str| floors.iter().position(|floor| floor.contains(&module));
    let unknown = |module: &str| {
        if module.starts_with(char::is_uppercase) {
            format!("`crate::{module}` hides its floor: name the module it lives in")
        } else {
            format!("`{module}` is on no floor of {folder}: see the table in xtask/src/floors.rs")
        }
    };
    let Some(floor) = floor_of(own) else { return vec![format!("{path}: {}", unknown(own))] };
    let mut found = Vec::new();
    for (number, module) in used(&source::lines(path, text), steps.len()) {
        match floor_of(&module) {
            _ if module == own => {}
            Some(other) if other < floor => {}
            Some(other) => {
                let how = if other == floor { "beside" } else { "above" };
                found.push(format!(
                    "{path}:{number}: `{own}` (floor {floor}) uses `{module}` (floor {other}), {how} it"
                ));
            }
            None => found.push(format!("{path}:{number}: {}", unknown(&module))),
        }
    }
    found
}

/// Top-level modules that a file names from the root, with their lines; tests left out.
///
/// `depth` is how many `super::` lead from the file to the root.
fn used(lines: &[Line], depth: usize) -> Vec<(usize, String)> {
    let mut code = String::new();
    for line in lines {
        code += if line.test { "" } else { &line.code };
        code.push('\n');
    }
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", up.as_str()] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || "_:".contains(before) {
                continue;
            }
            let behind = &code[at + root.len()..];
            for (offset, name) in first_names(behind.trim_start_matches("super::")) {
                let number = 1 + code[..at + root.len() + offset].matches('\n').count();
                found.push((number, name));
            }
        }
    }
    found.sort();
    found
}

/// The first names of a path, or of each path in a group, with their offsets. Macros are no paths.
fn first_names(code: &str) -> Vec<(usize, String)> {
    let Some(group) = code.strip_prefix('{') else {
        return name(code).map(|name| (0, name)).into_iter().collect();
    };
    let mut found = Vec::new();
    let mut depth = 1;
    let mut fresh = true;
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => fresh = true,
            _ if letter.is_whitespace() => {}
            _ => {
                if fresh && depth == 1 {
                    found.extend(name(&group[at..]).map(|name| (at + 1, name)));
                }
                fresh = false;
            }
        }
        if depth == 0 {
            break;
        }
    }
    found
}

fn name(code: &str) -> Option<String> {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    let (name, behind) = code.split_at(end);
    (!name.is_empty() && !behind.starts_with('!')).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(path: &str, text: &str) -> Vec<String> {
        judge(HOUSES[0].0, HOUSES[0].1, path, text)
    }

    #[test]
    fn down_is_free_and_within_a_module_too() {
        let text = "use crate::time::Instant;\nuse crate::monitor::step;\nuse super::Waiting;\n";
        assert_eq!(core("core/src/monitor/step.rs", text), [""; 0]);
    }

    #[test]
    fn up_and_sideways_are_named_with_their_line() {
        let text = "use crate::{\n    time::{Instant, x},\n    peer::Peer,\n};\nfn f(_: crate::wire::V1) {}\n";
        assert_eq!(
            core("core/src/monitor.rs", text),
            [
                "core/src/monitor.rs:3: `monitor` (floor 5) uses `peer` (floor 5), beside it",
                "core/src/monitor.rs:5: `monitor` (floor 5) uses `wire` (floor 6), above it",
            ]
        );
    }

    #[test]
    fn super_that_reaches_the_root_counts() {
        assert_eq!(core("core/src/ring.rs", "use super::history::History;").len(), 1);
        assert_eq!(core("core/src/monitor/step.rs", "use super::super::wire::V1;").len(), 1);
        assert_eq!(core("core/src/monitor/mod.rs", "use super::wire::V1;").len(), 1);
        assert_eq!(core("core/src/monitor/step.rs", "use super::wire::V1;").len(), 0);
    }

    #[test]
    fn tests_comments_and_macros_may_name_anything() {
        let text = "//! [`crate::record`]\nlet a = crate::made!(1);\n#[cfg(test)]\nmod tests {\n    use crate::record::Entry;\n}\n";
        assert_eq!(core("core/src/time.rs", text), [""; 0]);
    }

    #[test]
    fn a_module_without_a_floor_is_told_where_floors_are_given() {
        for (path, text) in
            [("core/src/extra.rs", ""), ("core/src/wire.rs", "use crate::extra::X;")]
        {
            let found = core(path, text);
            assert_eq!(found.len(), 1);
            assert!(found[0].contains("xtask/src/floors.rs"), "{}", found[0]);
        }
        let found = core("core/src/monitor.rs", "use crate::Instant;");
        assert!(found[0].contains("name the module"), "{}", found[0]);
    }

    #[test]
    fn the_workspace_keeps_to_its_floors() {
        assert_eq!(complaints(), [""; 0]);
    }
}
