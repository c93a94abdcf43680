//! `giveover board test`: by the daemon that has the board, or on the bench without one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use giveover_core::board::Settings;
use giveover_core::time::Instant;

use super::super::exit::{Exit, Stop};
use super::super::json;
use super::super::session::Session;
use crate::board::bench::{Bench, Found, Pulse};
use crate::board::directly::talk;
use crate::board::key;
use crate::config::plan::{BoardKind, BoardPlan};
use crate::daemon::board::doc::{configured, told_by};
use crate::report::board as screens;
use crate::report::model::{BoardDoc, Command};

#[derive(Debug, Args)]
pub(super) struct Test {
    /// Touch nothing; that is what it does anyway
    #[arg(long)]
    dry: bool,
    /// On the bench, without a daemon: on this port
    #[arg(long, value_name = "PATH", requires = "key", conflicts_with = "reset_this_host")]
    port: Option<PathBuf>,
    /// On the bench: the file with the board's key
    #[arg(long, value_name = "PATH", requires = "port")]
    key: Option<PathBuf>,
    /// On the bench: one pulse, which resets whatever is wired to the line
    #[arg(long, requires = "port", conflicts_with = "dry")]
    pulse: bool,
    /// Append what was found to this file, a line for each board
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Reset this host, whose name must be given
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dry", "record"])]
    reset_this_host: Option<String>,
}

/// What was looked at: its name, whether it is well, and what was found.
type Row = (&'static str, bool, String);

pub(super) fn run(verb: &Test, session: &mut Session<'_>) -> Result<Exit, Stop> {
    if let Some(name) = &verb.reset_this_host {
        return reset(name, session);
    }
    let (doc, rows, low_ms) = match (&verb.port, &verb.key) {
        (Some(port), Some(key)) => on_the_bench(port, key, verb.pulse)?,
        _ => {
            let doc = super::board(session)?;
            let rows = screens::test(&doc);
            (doc, rows, None)
        }
    };
    let well = rows.iter().all(|(_, well, _)| *well);
    let text = if session.json {
        let rows = rows.iter().map(
            |(name, well, found)| serde_json::json!({ "name": name, "ok": well, "found": found }),
        );
        json::line(&serde_json::json!({ "ok": well, "tests": rows.collect::<Vec<_>>() }))
    } else {
        screens::rows(&rows, session.paint)
    };
    session.print(&text)?;
    if let Some(path) = &verb.record {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let sheet = sheet(&now, &doc, &rows, low_ms);
        append(path, &sheet).map_err(|error| {
            Stop::Said(Exit::NO, format!("{}: {error}: nothing was recorded", path.display()))
        })?;
    }
    Ok(if well { Exit::DONE } else { Exit::NO })
}

fn reset(name: &str, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let node = session.status()?.host.node;
    if name != node {
        return Err(Stop::usage(format!("this host is {node}, not {name}: nothing was done")));
    }
    let action = Some("reset".into());
    session.command(&Command { verb: "board".into(), action, ..Command::default() })
}

/// On a port that no daemon has.
fn on_the_bench(
    port: &Path,
    path: &Path,
    pulse: bool,
) -> Result<(BoardDoc, Vec<Row>, Option<u32>), Stop> {
    let refused = |error| Stop::refused(format!("{} {error}", path.display()));
    let key = key::read(path).map_err(refused)?;
    let begin = |nonce, now| Bench::begin(key, pulse, nonce, now);
    let found = talk(port, begin).map_err(|why| Stop::Said(Exit::NO, why))?;
    let plan = BoardPlan {
        kind: BoardKind::Giveover { key: path.to_path_buf() },
        port: port.to_path_buf(),
        settings: Settings::DEFAULT,
        confirm_after: giveover_core::time::Span::ZERO,
        required: false,
    };
    let doc = told(&plan, &found, key.id().to_string());
    let mut rows = screens::test(&doc);
    rows.extend(found.pulse.map(|pulse| pulse_row(pulse, &plan.settings)));
    let low_ms = match found.pulse {
        Some(Pulse::Made(low_ms)) => low_ms,
        _ => None,
    };
    Ok((doc, rows, low_ms))
}

fn told(plan: &BoardPlan, found: &Found, key: String) -> BoardDoc {
    // It was armed when this was told, or a trouble says why not.
    let armed = found.trouble.is_none() && found.told.report.is_some();
    let cause = match &found.trouble {
        Some(trouble) => trouble.to_string(),
        None if armed => "armed".to_owned(),
        None => "it was not armed in time".to_owned(),
    };
    let doc = BoardDoc { armed, cause, key: Some(key), ..configured(plan) };
    let last = found.told.report.as_ref().map_or(Instant::from_millis(0), |(_, at)| *at);
    let last = found.told.fed.map_or(last, |fed| fed.max(last));
    told_by(doc, &found.told, found.counters, &plan.settings, last)
}

fn pulse_row(pulse: Pulse, settings: &Settings) -> Row {
    let set = settings.pulse.as_millis();
    let found = match pulse {
        Pulse::Made(Some(ms)) => format!("the line read low for {ms} ms, {set} ms are set"),
        Pulse::Made(None) => format!("made, {set} ms; no pin is wired to read it back"),
        Pulse::Unproven => "asked for, and its end was not told".to_owned(),
        Pulse::Refused(failed) => failed.to_string(),
    };
    ("pulse", pulse.is_well(settings.pulse), found)
}

/// The line of the sheet that a maker keeps for each piece.
fn sheet(at: &str, doc: &BoardDoc, rows: &[Row], low_ms: Option<u32>) -> String {
    let missing = || "-".to_owned();
    let bad: Vec<&str> = rows.iter().filter(|row| !row.1).map(|row| row.0).collect();
    let parts = [
        at.to_owned(),
        doc.board.clone().unwrap_or_else(missing),
        doc.device.clone().unwrap_or_else(missing),
        doc.key.clone().unwrap_or_else(missing),
        doc.firmware.clone().unwrap_or_else(missing),
        doc.image.clone().unwrap_or_else(missing),
        low_ms.map_or_else(missing, |ms| ms.to_string()),
        if bad.is_empty() { "ok".to_owned() } else { format!("NO: {}", bad.join(" ")) },
    ];
    // A name told by a board is no place for what parts them.
    parts.map(|part| part.replace([',', '\n', '\r', '"'], "?")).join(",") + "\n"
}

const HEAD: &str = "at,board,device,key,firmware,image,pulse_ms,result\n";

fn append(path: &Path, sheet: &str) -> std::io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let head = if file.metadata()?.len() == 0 { HEAD } else { "" };
    file.write_all(format!("{head}{sheet}").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_line_for_each_board_and_its_head_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sheet.csv");
        let doc = BoardDoc {
            board: Some("rp-pico,\n".to_owned()),
            device: Some("6614-04D3".to_owned()),
            key: Some("3f9a".to_owned()),
            firmware: Some("0.1.0".to_owned()),
            image: Some("00112233445566ff".to_owned()),
            ..BoardDoc::default()
        };
        let rows = [("link", true, String::new()), ("pulse", true, String::new())];
        append(&path, &sheet("2026-11-30T09:00:00Z", &doc, &rows, Some(250))).expect("a file");
        let bad = [("link", false, String::new()), ("pulse", false, String::new())];
        append(&path, &sheet("2026-11-30T09:01:00Z", &BoardDoc::default(), &bad, None))
            .expect("a file");
        let text = std::fs::read_to_string(&path).expect("a file");
        let expected = "\
at,board,device,key,firmware,image,pulse_ms,result
2026-11-30T09:00:00Z,rp-pico??,6614-04D3,3f9a,0.1.0,00112233445566ff,250,ok
2026-11-30T09:01:00Z,-,-,-,-,-,-,NO: link pulse
";
        assert_eq!(text, expected);
        assert!(append(dir.path(), "x").is_err());
    }

    #[test]
    fn a_pulse_is_well_within_a_twentieth_of_what_is_set() {
        let row = |pulse| pulse_row(pulse, &Settings::DEFAULT);
        for (ms, well) in [(237, false), (238, true), (250, true), (262, true), (263, false)] {
            assert_eq!(row(Pulse::Made(Some(ms))).1, well, "{ms}");
        }
        assert!(row(Pulse::Made(None)).1 && row(Pulse::Made(None)).2.contains("no pin"));
        assert!(!row(Pulse::Unproven).1);
        let refused = Pulse::Refused(crate::board::link::Failed::NoAnswer);
        assert!(!row(refused).1);
    }
}
