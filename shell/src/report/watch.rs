//! `giveover status --watch`: one frame of it.

use super::events;
use super::model::{EventDoc, HostDoc, ServiceDoc, StatusDoc};
use super::paint::Paint;
use super::phrase;
use super::pool;
use super::status;
use super::table::{Column, Edge, Table, WIDTH, cut, wide};
use crate::message::span;

const COLUMNS: [Column; 7] = [
    ("SERVICE", Edge::Left),
    ("STATUS", Edge::Left),
    ("FOR", Edge::Right),
    ("SUM OF 100", Edge::Left),
    ("RESTARTS", Edge::Left),
    ("LAST 20 CYCLES", Edge::Left),
    ("NEXT", Edge::Left),
];

/// The columns that give way on a narrow screen: what is next, the name.
const SOFT: [usize; 2] = [6, 0];

/// What the letters of the cycles mean.
pub const LEGEND: &str = ". healthy   o part   x complete   ? cannot measure   - not probed   \
                          R restart   G giveover";

/// What the keys do.
const KEYS: &str = "q quit, enter explain";

/// How many events a frame shows where there is room.
const EVENTS: usize = 12;

/// The terminal a frame is drawn for, and what is selected on it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its height in lines.
    pub rows: usize,
    /// Its width in columns.
    pub columns: usize,
    /// The service the cursor is on, by its place on the screen.
    pub selected: Option<usize>,
    /// Colours, or none.
    pub paint: Paint,
}

/// One frame: host, services, newest events, legend. `lost` says since when the daemon has not
/// answered, if it does not.
#[must_use]
pub fn frame(
    doc: &StatusDoc,
    events: &[EventDoc],
    lost: Option<&str>,
    window: &Window,
) -> Vec<String> {
    let width = window.columns.min(WIDTH);
    let mut lines = status::alarms(&doc.host, window.paint);
    if let Some(since) = lost {
        lines.push(window.paint.alarm(&format!("NO ANSWER from the daemon since {since}")));
    }
    lines.push(cut(&header(doc), width));
    lines.push(String::new());
    if !doc.services.is_empty() || doc.pools.is_empty() {
        lines.extend(table(doc, window, width));
        lines.push(String::new());
    }
    for pool in &doc.pools {
        lines.extend(pool::section(pool, status::taken(doc), window.paint));
        lines.push(String::new());
    }
    // The legend keeps the last line, events take what is left.
    let room = window.rows.saturating_sub(lines.len() + 1).min(EVENTS);
    lines.extend(events::newest(events, room).iter().map(|line| cut(line, width)));
    lines.truncate(window.rows.saturating_sub(1));
    lines.push(cut(LEGEND, width));
    lines
}

fn header(doc: &StatusDoc) -> String {
    let HostDoc { node, trusted, actions, .. } = &doc.host;
    let time = status::taken(doc).time();
    let trusted = match trusted.total {
        0 => String::new(),
        total => format!("trusted {} of {total}   ", trusted.answering),
    };
    let (spent, count) = (actions.spent, actions.count);
    format!("{node}  {time}   {trusted}actions {spent} of {count}   {KEYS}")
}

fn table(doc: &StatusDoc, window: &Window, width: usize) -> Vec<String> {
    let now = status::taken(doc);
    let services = phrase::not_ok_first(&doc.services);
    let mut table = Table::new(&COLUMNS, &SOFT);
    for service in &services {
        table.row(vec![
            service.name.clone(),
            service.status.clone(),
            span::coarse(service.for_ms),
            bar(service.failure_sum),
            phrase::restarts(service),
            cycles(service),
            phrase::next(service, now),
        ]);
    }
    let lines = table.lines(width, |row, column, text| match services.get(row) {
        Some(service) if column == 1 && window.selected != Some(row) => {
            window.paint.status(&service.status, &text)
        }
        _ => text,
    });
    let cursor = window.selected.map(|place| place + 1);
    let mark = |(place, line)| if cursor == Some(place) { reversed(line, width) } else { line };
    lines.into_iter().enumerate().map(mark).collect()
}

/// The cursor is no colour: it is drawn without colours too.
fn reversed(line: String, width: usize) -> String {
    let fill = width.saturating_sub(wide(&line));
    format!("\x1b[7m{line}{:fill$}\x1b[0m", "")
}

/// `#####.....  50`
fn bar(sum: u16) -> String {
    let full = usize::from(sum.min(100)) / 10;
    format!("{}{}{sum:>4}", "#".repeat(full), ".".repeat(10 - full))
}

/// The newest cycles, right-aligned, so that the newest of all services stand under one another.
fn cycles(service: &ServiceDoc) -> String {
    let known = wide(&service.cycles);
    let newest: String = service.cycles.chars().skip(known.saturating_sub(20)).collect();
    format!("{newest:>20}")
}

#[cfg(test)]
mod tests {
    use super::super::model::{MemberDoc, PoolDoc};
    use super::super::sample;
    use super::*;

    const WINDOW: Window = Window { rows: 24, columns: 120, selected: None, paint: Paint::PLAIN };

    fn events() -> Vec<EventDoc> {
        let history = sample::history();
        vec![history[2].clone(), history[3].clone(), history[4].clone()]
    }

    /// The interface's frame without the board; the text of an event is the log's.
    #[test]
    fn the_frame_is_the_interfaces() {
        let mut events = events();
        events[2].text = "page 503, expected 200 or 204, weight 50 (sum 50 of 100)".into();
        let expected = "\
gw-017  14:01:16   trusted 2 of 2   actions 1 of 20   q quit, enter explain

SERVICE    STATUS    FOR  SUM OF 100      RESTARTS  LAST 20 CYCLES        NEXT
web        degraded  14s  #####.....  50  1 of 2    .............ooR...o  probe in 16s
mqtt       ok        40m  ..........   0  0 of 2    xxxx--------........  held by ops until 14:30
uplink     ok        12d  ..........   0  0 of 3    ....................  probe in 41s
collector  ok         2h  ..........   0  1 of 2    ......R......?......  probe in 3s

14:01:02  web   page 503, expected 200 or 204, weight 50 (sum 50 of 100)
13:58:03  web   started, generation 7, pid 912, after 1.3 s
13:58:02  web   restart 1 of 2: page 503, page 503 (sum 100)
. healthy   o part   x complete   ? cannot measure   - not probed   R restart   G giveover";
        assert_eq!(frame(&sample::watched(), &events, None, &WINDOW).join("\n"), expected);
    }

    #[test]
    fn a_frame_fits_every_terminal() {
        for rows in 1..30 {
            for columns in [1, 20, 80, 200] {
                let window = Window { rows, columns, ..WINDOW };
                let frame = frame(&sample::watched(), &events(), Some("14:00:00"), &window);
                assert!(frame.len() <= rows, "{rows}");
                assert_eq!(frame.last(), Some(&cut(LEGEND, columns.min(WIDTH))));
            }
        }
    }

    #[test]
    fn the_cursor_shows_without_colours() {
        let window = Window { selected: Some(1), ..WINDOW };
        let frame = frame(&sample::watched(), &[], None, &window);
        assert!(frame[4].starts_with("\x1b[7mmqtt "), "{}", frame[4]);
    }

    #[test]
    fn sums_fill_the_bar_and_short_histories_keep_to_the_right() {
        assert_eq!(bar(0), "..........   0");
        assert_eq!(bar(50), "#####.....  50");
        assert_eq!(bar(100), "########## 100");
        assert_eq!(bar(u16::MAX), "##########65535");
        let service = ServiceDoc { cycles: ".x".into(), ..sample::web() };
        assert_eq!(cycles(&service), "                  .x");
    }

    #[test]
    fn pools_stand_below_the_services() {
        let member = MemberDoc {
            name: "a".into(),
            address: "10.0.0.11:80".into(),
            state: "out".into(),
            why: "page refused".into(),
            for_ms: 14_000,
            ..MemberDoc::default()
        };
        let pool = PoolDoc { name: "front".into(), members: vec![member], ..PoolDoc::default() };
        let mut doc = StatusDoc { pools: vec![pool], ..sample::watched() };
        let frame = frame(&doc, &events(), None, &WINDOW);
        assert!(frame[2].starts_with("SERVICE "), "{frame:?}");
        let expected = [
            "front   0 of 1 take work",
            "MEMBER  ADDRESS       STATE  FOR  WEIGHT  CHECKS",
            "a       10.0.0.11:80  out    14s       -  page refused",
            "",
        ];
        assert_eq!(frame[8..12], expected);
        // A host that has nothing but pools shows nothing but pools.
        doc.services.clear();
        let frame = super::frame(&doc, &[], None, &WINDOW);
        assert_eq!(frame[2..6], expected);
    }

    #[test]
    fn a_daemon_that_does_not_answer_is_said_first() {
        let frame = frame(&sample::watched(), &[], Some("14:00:00"), &WINDOW);
        assert_eq!(frame[0], "NO ANSWER from the daemon since 14:00:00");
    }
}
