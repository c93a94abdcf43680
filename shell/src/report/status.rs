//! `giveover status`: the host in two lines, then a line a service.

use super::model::{HostDoc, ServiceDoc, StatusDoc};
use super::paint::Paint;
use super::phrase;
use super::table::{Column, Edge, Table, WIDTH, cut, wide};
use super::time::Moment;
use crate::message::span;

const COLUMNS: [Column; 7] = [
    ("SERVICE", Edge::Left),
    ("STATUS", Edge::Left),
    ("FOR", Edge::Right),
    ("SUM", Edge::Right),
    ("RESTARTS", Edge::Left),
    ("CHECKS", Edge::Left),
    ("NEXT", Edge::Left),
];

/// The columns that give way on a narrow screen: what was seen, what is next, the name.
const SOFT: [usize; 3] = [5, 6, 0];

/// The screen for a terminal.
#[must_use]
pub fn screen(doc: &StatusDoc, paint: Paint) -> String {
    let mut lines = alarms(&doc.host, paint);
    lines.extend(header(doc, paint));
    lines.push(counts(&doc.services));
    if !doc.services.is_empty() {
        lines.push(String::new());
        lines.extend(table(doc, paint));
    }
    for pool in &doc.pools {
        lines.push(String::new());
        lines.extend(super::pool::section(pool, taken(doc), paint));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A line a service for other programs: tab-separated, no header.
#[must_use]
pub fn plain(doc: &StatusDoc) -> String {
    let now = taken(doc);
    let mut text = String::new();
    for service in phrase::not_ok_first(&doc.services) {
        text.push_str(&cells(service, now).join("\t"));
        text.push('\n');
    }
    text
}

/// What must be seen before anything else: nothing is acted on, or nothing is remembered.
#[must_use]
pub fn alarms(host: &HostDoc, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    if host.observe {
        let text = "OBSERVING: every decision is made and shown, nothing is acted on";
        lines.push(paint.alarm(text));
    }
    if host.local_fault {
        let text = "LOCAL FAULT: many services fail and no trusted server answers, acting on none";
        lines.push(paint.alarm(text));
    }
    if !journal_well(host) {
        lines.push(paint.alarm(&cut(&format!("JOURNAL: {}", host.journal), WIDTH)));
    }
    lines
}

fn journal_well(host: &HostDoc) -> bool {
    host.journal.is_empty() || host.journal == "ok"
}

/// When the document was taken; "now" where it does not say.
#[must_use]
pub fn taken(doc: &StatusDoc) -> Moment {
    Moment::parse(&doc.at).unwrap_or_else(Moment::now)
}

fn header(doc: &StatusDoc, paint: Paint) -> Vec<String> {
    let host = &doc.host;
    let about =
        format!("{}  giveover {}, up {}   ", host.node, doc.version, span::coarse(host.up_ms));
    let actions = format!(
        "   actions {} of {} in {}",
        host.actions.spent,
        host.actions.count,
        span::window(host.actions.per_ms)
    );
    let room = WIDTH.saturating_sub(wide(&about) + wide(&actions));
    let file = file(host, room);
    let mut lines = vec![format!("{about}{file}{actions}")];
    let board = doc.board.as_ref().map(|board| format!("board   {}", super::board::line(board)));
    let board = board.unwrap_or_default();
    let trusted = match (host.trusted.answering, host.trusted.total) {
        (_, 0) => String::new(),
        (answering, total) => format!("trusted {answering} of {total} answer"),
    };
    let left = wide(&about) + wide(&file) + 3;
    // Where both do not fit, each has a line of its own.
    let together = trusted.is_empty() || wide(&board) + 3 <= left;
    let alarmed = |text: &str| match &doc.board {
        Some(board) if !board.armed => paint.alarm(text),
        _ => text.to_owned(),
    };
    match (board.is_empty(), together) {
        (true, _) if trusted.is_empty() => {}
        (true, _) => lines.push(format!("{:left$}{trusted}", "")),
        (false, true) => {
            let gap = if trusted.is_empty() { 0 } else { left - wide(&board) };
            lines.push(format!("{}{:gap$}{trusted}", alarmed(&board), ""));
        }
        (false, false) => {
            lines.push(alarmed(&board));
            lines.push(format!("{:left$}{trusted}", ""));
        }
    }
    lines
}

/// The configuration file, its beginning cut off where there is no room for all of it.
fn file(host: &HostDoc, room: usize) -> String {
    let more = match host.included {
        0 => String::new(),
        count => format!(" + {count}"),
    };
    let whole = format!("{}{more}", host.file);
    let over = wide(&whole).saturating_sub(room.max(8));
    if over == 0 {
        return whole;
    }
    let kept: String = whole.chars().skip(over + 1).collect();
    format!("…{kept}")
}

fn counts(services: &[ServiceDoc]) -> String {
    let worst_first = ["faulted", "degraded", "offline", "unknown", "ok"];
    let words: Vec<String> = worst_first
        .into_iter()
        .map(|word| (word, services.iter().filter(|service| service.status == word).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    match services.len() {
        0 => String::from("no services"),
        1 => format!("1 service: {}", words.join(", ")),
        many => format!("{many} services: {}", words.join(", ")),
    }
}

fn table(doc: &StatusDoc, paint: Paint) -> Vec<String> {
    let now = taken(doc);
    let services = phrase::not_ok_first(&doc.services);
    let mut table = Table::new(&COLUMNS, &SOFT);
    for service in &services {
        table.row(cells(service, now));
    }
    table.lines(WIDTH, |row, column, text| match services.get(row) {
        Some(service) if column == 1 => paint.status(&service.status, &text),
        _ => text,
    })
}

fn cells(service: &ServiceDoc, now: Moment) -> Vec<String> {
    vec![
        service.name.clone(),
        service.status.clone(),
        span::coarse(service.for_ms),
        sum(service),
        format!("{} in {}", phrase::restarts(service), span::window(service.retry_interval_ms)),
        phrase::checks(service),
        phrase::next(service, now),
    ]
}

/// Nothing counts while a need is unmet or the service is stopped: there is no sum to show.
fn sum(service: &ServiceDoc) -> String {
    if service.unmet.is_empty() && service.status != "offline" {
        service.failure_sum.to_string()
    } else {
        String::from("-")
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// The interface's screen, without the board and in the words of a host without one.
    #[test]
    fn the_table_is_the_interfaces() {
        let expected = "\
gw-017  giveover 0.4.0, up 41d   /etc/giveover/giveover.toml + 1   actions 4 of 20 in 1h
                                                                   trusted 0 of 2 answer
4 services: 1 faulted, 1 degraded, 2 ok

SERVICE    STATUS    FOR  SUM  RESTARTS       CHECKS                       NEXT
uplink     faulted   40s    0  3 of 3 in 1h   out: no reply in 10s (100)   budget spent until 14:51
mqtt       degraded   4m    -  0 of 2 in 10m  port: refused                waits for uplink
web        ok        12d    0  0 of 2 in 10m  page 200 3ms, site 200 11ms  probe in 12s
collector  ok         2h    0  1 of 2 in 10m  api 200 1ms                  held by ops until 16:00
";
        assert_eq!(screen(&sample::gateway(), Paint::PLAIN), expected);
    }

    #[test]
    fn in_a_pipe_a_service_is_a_line_of_seven_fields() {
        let text = plain(&sample::gateway());
        let first = "uplink\tfaulted\t40s\t0\t3 of 3 in 1h\tout: no reply in 10s (100)\t\
                     budget spent until 14:51";
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().all(|line| line.matches('\t').count() == 6));
    }

    #[test]
    fn observing_is_said_before_anything_else() {
        let mut doc = sample::gateway();
        doc.host.observe = true;
        doc.host.journal = "No space left on device since 13:40:12".into();
        let text = screen(&doc, Paint::PLAIN);
        assert!(text.starts_with("OBSERVING: "), "{text}");
        assert_eq!(text.lines().nth(1), Some("JOURNAL: No space left on device since 13:40:12"));
    }

    #[test]
    fn no_line_is_wider_than_a_hundred_columns() {
        let mut doc = sample::gateway();
        doc.host.file = format!("/srv/{}/giveover.toml", "deep/".repeat(40));
        for service in &mut doc.services {
            service.name =
                "a-name-of-sixty-four-characters-is-the-longest-that-the-file-takes".into();
            for check in &mut service.checks {
                check.cause = "an answer that goes on and on ".repeat(9);
            }
        }
        for line in screen(&doc, Paint::PLAIN).lines() {
            assert!(wide(line) <= WIDTH, "{}: {line}", wide(line));
        }
        assert!(screen(&doc, Paint::PLAIN).contains("/giveover.toml + 1   actions"));
    }

    #[test]
    fn colour_repeats_the_words() {
        let coloured = screen(&sample::gateway(), Paint::new(true));
        assert!(coloured.contains("\x1b[1;31mfaulted \x1b[0m"));
        let mut stripped = coloured;
        for code in ["\x1b[1;31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, screen(&sample::gateway(), Paint::PLAIN));
    }

    #[test]
    fn a_host_without_services_says_so() {
        let doc = StatusDoc { services: Vec::new(), ..sample::gateway() };
        assert!(screen(&doc, Paint::PLAIN).ends_with("\nno services\n"));
    }
}
