//! One event through the core. Criterion measures it; this only puts its estimate into the table.

use super::Rounds;
use crate::bed::Bed;
use crate::peer::Program;
use crate::table::{Of, Row, Unit, at_most};
use crate::why::Why;
use std::fs;
use std::path::{Path, PathBuf};

/// The slowest of the benchmark's cases, and its name.
struct Estimate {
    median_ns: f64,
    case: String,
}

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let rounds = Rounds::run(bed, "handle", |program| match program {
        Program::Ours => slowest(&bed.exe),
        _ => Err(Why::lasting("–")),
    });
    vec![Row {
        figure: "`handle`, one event (Criterion, the slowest case)".to_owned(),
        unit: Unit::Nanos,
        columns: rounds.columns(
            |estimate| estimate.median_ns,
            |all| all.first().map_or(String::new(), |estimate| estimate.case.clone()),
        ),
        must: vec![at_most(100.0, Of::Value)],
        aim: vec![at_most(30.0, Of::Value)],
    }]
}

/// Criterion leaves its results in `criterion` of the target directory, two above this binary.
fn slowest(exe: &Path) -> Result<Estimate, Why> {
    let missing = || Why::lasting("run `cargo bench -p giveover-core` first");
    let root = exe.parent().and_then(Path::parent).map(|target| target.join("criterion"));
    let mut files = Vec::new();
    find(&root.ok_or_else(missing)?, &mut files, 4);
    let estimates = files.iter().filter_map(|file| read(file));
    estimates.max_by(|a, b| a.median_ns.total_cmp(&b.median_ns)).ok_or_else(missing)
}

/// The newest estimates below `place`, so many floors deep.
fn find(place: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let file = place.join("new").join("estimates.json");
    if file.is_file() {
        files.push(file);
    }
    if depth > 0 {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            find(&entry.path(), files, depth - 1);
        }
    }
}

/// `…/one event/CASE/new/estimates.json`; the other groups are of several events.
fn read(file: &Path) -> Option<Estimate> {
    let case = file.parent()?.parent()?;
    let case = case.components().map(|part| part.as_os_str().to_string_lossy());
    let case: Vec<_> = case.skip_while(|part| *part != "criterion").skip(1).collect();
    let case = case.join("/");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let median_ns = json["median"]["point_estimate"].as_f64()?;
    case.starts_with("one event/").then_some(Estimate { median_ns, case })
}
