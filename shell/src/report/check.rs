//! `giveover check`: what a configuration will do, before anybody runs it.
//!
//! Pure: from a plan and what was found about it to the text or JSON that is printed.

use std::fmt::Write as _;
use std::path::Path;

use giveover_core::board::Second;
use giveover_core::time::Span;
use serde_json::{Value, json};

use self::outlook::Outlook;
use crate::config::cluster::{decides, told};
use crate::config::diff::waits;
use crate::config::plan::{BoardKind, BoardPlan, GoesTo, Plan, Run, ServicePlan};
use crate::config::quantity::{readable, written};
use crate::config::words;
use crate::config::{Level, Loaded, Report, many};

mod outlook;
mod pool;
mod sentence;

/// The exit status of `check`: 3 if anything is refused; with `strict` warnings are, too.
#[must_use]
pub fn exit_status(findings: &Report, strict: bool) -> u8 {
    let refused = |level| level == Level::Error || strict;
    if findings.findings().iter().any(|finding| refused(finding.level)) { 3 } else { 0 }
}

/// What `check` prints of a configuration that can be run. `findings` are its warnings and, with
/// `--here`, what this machine lacks.
#[must_use]
pub fn text(loaded: &Loaded, findings: &Report) -> String {
    let plan = &loaded.plan;
    let mut text = String::new();
    if plan.host.observe {
        text.push_str("OBSERVING: everything is decided and shown, nothing is acted on\n");
    }
    text += &format!("{}: {}", files(plan), many(plan.services.len(), "service"));
    if plan.board.is_some() {
        text.push_str(", 1 board");
    }
    if !plan.pools.is_empty() {
        text += &format!(", {}", many(plan.pools.len(), "pool"));
    }
    if let Some(cluster) = &plan.cluster {
        let (nodes, groups) = (cluster.nodes.len(), cluster.groups.len());
        text += &format!(", {}, {}", many(nodes, "node"), many(groups, "group"));
    }
    if !findings.is_empty() {
        let _ = write!(text, ", {}", findings.summary()); // a String takes everything
    }
    text.push('\n');
    if !plan.services.is_empty() || plan.board.is_some() {
        text.push('\n');
        text.push_str(&table(plan));
        text.push('\n');
        for service in &plan.services {
            for line in std::iter::once(sentence::of(service)).chain(limits(service)) {
                text.push_str(&words::wrapped(&format!("{}: {line}", service.name), "  "));
            }
        }
    }
    if !plan.pools.is_empty() {
        text.push('\n');
    }
    for pool in &plan.pools {
        for line in pool::sentences(pool) {
            text.push_str(&words::wrapped(&format!("pool {}: {line}", pool.name), "  "));
        }
    }
    if let Some(cluster) = &plan.cluster {
        text.push('\n');
        for line in std::iter::once(decides(cluster)).chain(told(cluster)) {
            text.push_str(&words::wrapped(&format!("cluster: {line}"), "  "));
        }
    }
    if !findings.is_empty() {
        let _ = write!(text, "\n{}", findings.short());
    }
    text
}

/// The main file and those it included, relative to it; of many, the first few.
fn files(plan: &Plan) -> String {
    const FEW: usize = 3;
    let base = plan.file.parent().unwrap_or(Path::new(""));
    let mut names = vec![plan.file.display().to_string()];
    for file in plan.included.iter().take(FEW) {
        names.push(file.strip_prefix(base).unwrap_or(file).display().to_string());
    }
    match plan.included.len().checked_sub(FEW) {
        Some(more @ 1..) => format!("{} and {more} more", names.join(", ")),
        _ => names.join(", "),
    }
}

const HEADS: [&str; 7] = [
    "SERVICE",
    "MODE",
    "NOTICED dead / hung",
    "RESTARTS",
    "GIVES OVER at worst",
    "MOST",
    "GOES TO",
];

/// The place of the column whose counts are aligned at their end.
const MOST: usize = 5;

fn table(plan: &Plan) -> String {
    let digits = plan.services.iter().map(|it| count_digits(&Outlook::of(it))).max().unwrap_or(1);
    let mut heads = HEADS.map(str::to_owned);
    heads[MOST] = format!("{}MOST", " ".repeat(digits - 1));
    let mut rows: Vec<[String; 7]> = plan.services.iter().map(|it| row(it, digits)).collect();
    rows.extend(plan.board.as_deref().map(|board| board_row(board, digits)));
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.chain(heads.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(&rows) {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // The counts reach into the gap before them, as in a column of numbers.
            let gap = if at + 1 == MOST { 3 - digits.min(2) } else { 2 };
            let _ = write!(line, "{cell:width$}{:gap$}", "");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn count_digits(outlook: &Outlook) -> usize {
    outlook.most.map_or(1, |(count, _)| count.to_string().len())
}

fn row(service: &ServicePlan, digits: usize) -> [String; 7] {
    let outlook = Outlook::of(service);
    let at_once = |ms: Option<u64>| match ms {
        Some(0) => "at once".to_owned(),
        Some(ms) => readable(ms),
        None => "never".to_owned(),
    };
    let most = match outlook.most {
        Some((count, window_ms)) => format!("{count:>digits$} in {}", readable(window_ms)),
        None if service.policy.limits().retry_count.is_none() => "no limit".to_owned(),
        None => format!("{:>digits$}", "-"),
    };
    [
        service.name.to_string(),
        service.policy.limits().failover_mode.word().to_owned(),
        format!("{} / {}", at_once(outlook.dead_ms), at_once(outlook.hung_ms)),
        at_once(outlook.restart_ms),
        outlook.giveover_ms.map_or_else(|| "never".to_owned(), readable),
        most,
        goes_to(service),
    ]
}

/// The board watches one more service: this host.
fn board_row(board: &BoardPlan, digits: usize) -> [String; 7] {
    let settings = &board.settings;
    let (count, window) =
        (settings.retry_count, readable(u64::from(settings.retry_interval.as_millis())));
    let silence = readable(u64::from(settings.timeout.as_millis()));
    if !matches!(board.kind, BoardKind::Giveover { .. }) {
        // It resets for as long as nobody feeds it: there is nothing that it gives over to.
        return [
            "board".to_owned(),
            "-".to_owned(),
            silence.clone(),
            silence,
            "never".to_owned(),
            format!("{:>digits$}", "-"),
            format!("nobody: kind {}", board.kind.word()),
        ];
    }
    [
        "board".to_owned(),
        "-".to_owned(),
        silence.clone(),
        if count == 0 { "never".to_owned() } else { silence },
        format!("{} in {window}", ordinal(count.saturating_add(1))),
        format!("{count:>digits$} in {window}"),
        match settings.second {
            Second::None => "none: line left alone".to_owned(),
            second => format!("second line: {}", second.word()),
        },
    ]
}

fn ordinal(number: u8) -> String {
    let ending = match number {
        1 => "st",
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn board_json(board: &BoardPlan) -> Value {
    let settings = &board.settings;
    let timing = |span: Span| span.as_millis();
    let pretimeout = match board.kind {
        BoardKind::Giveover { .. } => None,
        BoardKind::Linux { pretimeout } => Some(pretimeout),
        BoardKind::Stick => Some(None),
    };
    if let Some(pretimeout) = pretimeout {
        return json!({
            "kind": board.kind.word(),
            "port": board.port,
            "timeout_ms": timing(settings.timeout),
            "pretimeout_ms": pretimeout.map(timing),
            "boot_grace_ms": timing(settings.boot_grace),
            "nowayout": settings.nowayout,
            "required": board.required,
        });
    }
    json!({
        "kind": board.kind.word(),
        "port": board.port,
        "timeout_ms": settings.timeout.as_millis(),
        "boot_grace_ms": settings.boot_grace.as_millis(),
        "link_timeout_ms": settings.link_timeout.as_millis(),
        "pulse_ms": settings.pulse.as_millis(),
        "confirm_after_ms": board.confirm_after.as_millis(),
        "retry_count": settings.retry_count,
        "retry_interval_ms": settings.retry_interval.as_millis(),
        "giveover": settings.second.word(),
        "nowayout": settings.nowayout,
        "required": board.required,
        "shadow": board.shadow,
    })
}

/// Where a spent budget leads.
fn goes_to(service: &ServicePlan) -> String {
    match (service.policy.gives_over(), service.giveover) {
        (true, GoesTo::Command) => "command".to_owned(),
        (true, GoesTo::Board) => "board".to_owned(),
        (true, GoesTo::Node) => "another node".to_owned(),
        (true, GoesTo::Nobody) | (false, _) => {
            let mode = service.policy.limits().failover_mode.word();
            let acts_as = if mode == "log_only" { mode } else { "restart_only" };
            format!("nobody: {acts_as}")
        }
    }
}

/// The limits somebody wrote or that follow from what runs the service, a line for each source.
fn limits(service: &ServicePlan) -> Vec<String> {
    let mut by_source: Vec<(&str, Vec<String>)> = Vec::new();
    for (key, source) in service.sources.iter().filter(|(_, source)| source != "built in") {
        let value = format!("{key} {}", limit(service, key));
        match by_source.iter_mut().find(|(known, _)| known == source) {
            Some((_, values)) => values.push(value),
            None => by_source.push((source, vec![value])),
        }
    }
    let line = |(source, values): (&str, Vec<String>)| format!("{} ({source})", values.join(", "));
    by_source.into_iter().map(line).collect()
}

/// The limit `key` of `service` as it would be written.
fn limit(service: &ServicePlan, key: &str) -> String {
    let limits = service.policy.limits();
    match key {
        "thorough_probe_interval" => written(limits.thorough_probe_interval),
        "probe_timeout" => written(limits.probe_timeout),
        "retry_count" => limits.retry_count.map_or("unlimited".to_owned(), |it| it.to_string()),
        "retry_interval" => written(limits.retry_interval),
        "start_timeout" => written(limits.start_timeout),
        "stop_timeout" => written(limits.stop_timeout),
        "start_grace" => written(limits.start_grace),
        "restart_delay" => waits(&limits.restart_delay),
        "failover_mode" => limits.failover_mode.word().to_owned(),
        "combine" => format!("{:?}", service.combine).to_lowercase(),
        _ => "?".to_owned(),
    }
}

/// The same as one object.
#[must_use]
pub fn to_json(loaded: &Loaded, findings: &Report) -> Value {
    let plan = &loaded.plan;
    json!({
        "schema": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "file": plan.file.display().to_string(),
        "included": plan.included.iter().map(|it| it.display().to_string()).collect::<Vec<_>>(),
        "observe": plan.host.observe,
        "board": plan.board.as_deref().map(board_json),
        "services": plan.services.iter().map(service_json).collect::<Vec<_>>(),
        "findings": findings.to_json(),
    })
}

/// The object for a configuration that was refused.
#[must_use]
pub fn refused_json(errors: &Report) -> Value {
    json!({
        "schema": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "services": null,
        "findings": errors.to_json(),
    })
}

fn service_json(service: &ServicePlan) -> Value {
    let outlook = Outlook::of(service);
    let limits = service.sources.iter().map(|(key, source)| {
        ((*key).to_owned(), json!({ "value": limit(service, key), "source": source }))
    });
    let checks = service.checks.iter().map(|check| {
        json!({
            "name": check.name,
            "kind": check.word(),
            "targets": check.targets.len(),
            "timeout_ms": check.timeout.as_millis(),
            "smallest": check.smallest().value(),
            "heaviest": check.heaviest().value(),
            "observe": check.observe,
        })
    });
    json!({
        "name": service.name,
        "preset": service.preset,
        "run": run_word(&service.run),
        "mode": service.policy.limits().failover_mode.word(),
        "noticed_dead_ms": outlook.dead_ms,
        "noticed_hung_ms": outlook.hung_ms,
        "earliest_restart_ms": outlook.restart_ms,
        "giveover_at_worst_ms": outlook.giveover_ms,
        "most_restarts": outlook.most.map(|(count, ms)| json!({ "count": count, "window_ms": ms })),
        "gives_over": service.policy.gives_over(),
        "goes_to": goes_to(service),
        "limits": limits.collect::<serde_json::Map<_, _>>(),
        "checks": checks.collect::<Vec<_>>(),
    })
}

const fn run_word(run: &Run) -> &'static str {
    match run {
        Run::Watched => "watched",
        Run::Unit(_) => "unit",
        Run::Process(_) => "process",
    }
}

#[cfg(test)]
mod tests;
