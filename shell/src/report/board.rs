//! `giveover board`: how the board stands, what a test of it found, its own log.

use super::model::{BoardDoc, BoardEntryDoc};
use super::paint::Paint;
use super::table::{WIDTH, cut};
use super::time::Moment;
use crate::message::span;

/// The screen of `board status`.
#[must_use]
pub fn screen(doc: &BoardDoc, paint: Paint) -> String {
    let mut lines = vec![header(doc), String::new(), state(doc, paint)];
    if is_simple(doc) {
        lines.push(format!("board    {}", simple(doc)));
    } else if doc.device.is_some() {
        lines.push(format!("resets   {}", resets(doc)));
        lines.push(format!("lines    {}", pins(doc)));
        lines.push(format!("link     {}", link(doc)));
        lines.push(format!("board    {}", board(doc)));
        lines.extend(doc.shadows.iter().map(|shadow| {
            let compared = match shadow.compared {
                0 => String::new(),
                cycles => format!(" for {cycles} cycles"),
            };
            format!("shadow   {} {}{compared}", shadow.service, shadow.state)
        }));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Hardware of another kind than ours, that knows a time-out and nothing else.
fn is_simple(doc: &BoardDoc) -> bool {
    matches!(doc.kind.as_str(), "linux" | "stick")
}

fn simple(doc: &BoardDoc) -> String {
    let mut parts = Vec::new();
    if let Some(ms) = doc.pretimeout_ms {
        parts.push(format!("the kernel warns itself {} before", span::compact(ms)));
    }
    parts.push(match (doc.armed, doc.stops_when_closed) {
        (true, true) => "a daemon that is killed stops it".to_owned(),
        (true, false) => "it goes on when a daemon is killed".to_owned(),
        (false, _) => "not counting for us".to_owned(),
    });
    match doc.has_reset {
        Some(true) => parts.push("the last start of this host was its doing".to_owned()),
        Some(false) => parts.push("the last start of this host was not its doing".to_owned()),
        None => {}
    }
    if doc.noise > 0 {
        parts.push(format!("{} bytes that nobody asked for", counted(doc.noise)));
    }
    parts.join("; ")
}

/// ` (60s was asked)`, where it has chosen another.
fn chosen(doc: &BoardDoc) -> String {
    match doc.wanted_ms.filter(|wanted| *wanted != doc.timeout_ms) {
        Some(wanted) => format!(" ({} was asked)", span::window_in_seconds(wanted)),
        None => String::new(),
    }
}

/// `armed 60s, fed 3s ago, resets 0 of 3 in 6h`
#[must_use]
pub fn line(doc: &BoardDoc) -> String {
    if !doc.armed {
        return cut(&format!("NOT ARMED: {}; this host is unguarded", doc.cause), WIDTH - 8);
    }
    let fed =
        doc.fed_ago_ms.map_or_else(String::new, |ago| format!(", fed {} ago", span::compact(ago)));
    let (timeout, window) =
        (span::window_in_seconds(doc.timeout_ms), span::window(doc.retry_interval_ms));
    if is_simple(doc) {
        return format!("armed {timeout}{}{fed}", chosen(doc));
    }
    format!("armed {timeout}{fed}, resets {} of {} in {window}", doc.resets, doc.retry_count)
}

/// `/dev/giveover-board   rp-pico 6614-04D3, firmware 0.4.0, key 3f9a, up 41d`
fn header(doc: &BoardDoc) -> String {
    let mut parts = Vec::new();
    if is_simple(doc) {
        parts.push(doc.kind.clone());
        parts.extend(doc.board.clone());
    }
    if let Some(device) = &doc.device {
        parts.push(format!("{} {device}", doc.board.as_deref().unwrap_or("board")));
    }
    parts.extend(doc.firmware.as_ref().map(|version| format!("firmware {version}")));
    parts.extend(doc.key.as_ref().map(|key| format!("key {key}")));
    parts.extend(doc.up_ms.map(|up| format!("up {}", span::coarse(up))));
    format!("{}   {}", doc.port, parts.join(", ")).trim_end().to_owned()
}

fn state(doc: &BoardDoc, paint: Paint) -> String {
    let timeout = span::window_in_seconds(doc.timeout_ms);
    if doc.armed {
        let fed = match doc.fed_ago_ms {
            Some(ago) => format!("fed {} ago ({} feeds)", span::compact(ago), counted(doc.feeds)),
            None => "not fed yet".to_owned(),
        };
        let gap = span::compact(doc.longest_gap_ms);
        let misses = doc.near_misses;
        let plural = if misses == 1 { "miss" } else { "misses" };
        return format!(
            "state    armed, {timeout}{}; {fed}; longest gap {gap}; {misses} near {plural}",
            chosen(doc)
        );
    }
    let since = doc
        .since
        .as_deref()
        .and_then(Moment::parse)
        .map_or_else(String::new, |since| format!(" since {}", since.time()));
    let left = match doc.left_ms {
        Some(left) if matches!(doc.state.as_str(), "disarmed" | "grace") => {
            format!(", {} left", span::compact(left))
        }
        _ => String::new(),
    };
    let text = format!("NOT ARMED: {}{left}{since}; this host is unguarded", doc.cause);
    let mut line = format!("state    {}", paint.alarm(&text));
    if !doc.remedy.is_empty() {
        line.push_str(&format!("\n         {}", doc.remedy));
    }
    line
}

fn resets(doc: &BoardDoc) -> String {
    let window = span::window(doc.retry_interval_ms);
    let mut text = format!("{} of {} in {window}", doc.resets, doc.retry_count);
    match &doc.last_reset {
        None => text.push_str("; none ever"),
        Some(last) => {
            let at = last.at.get(..19).unwrap_or(&last.at).replace('T', " ");
            text.push_str(&format!("; last {at}: {}", last.cause));
            let up = last.up_after_ms.map(|ms| format!("up in {}", span::compact(ms)));
            let confirmed =
                last.confirmed_after_ms.map(|ms| format!("confirmed in {}", span::compact(ms)));
            let after: Vec<String> = up.into_iter().chain(confirmed).collect();
            if !after.is_empty() {
                text.push_str(&format!("; {}", after.join(", ")));
            }
        }
    }
    text
}

fn pins(doc: &BoardDoc) -> String {
    let held = if doc.reset_held { "HELD" } else { "released" };
    let reads = match doc.reset_high {
        None => "not read back",
        Some(true) => "reads high",
        Some(false) => "reads LOW",
    };
    let second = if doc.second_on { "ON" } else { "released" };
    let other = match doc.second_reads {
        Some(on) if on != doc.second_on => {
            if on {
                ", reads ON"
            } else {
                ", reads OFF"
            }
        }
        _ => "",
    };
    let jumper = if doc.jumper { "SET" } else { "out" };
    let power = if doc.host_power { "on" } else { "OFF" };
    format!(
        "reset {held}, {reads}; second line ({}) {second}{other}; jumper {jumper}; host power {power}",
        doc.second
    )
}

fn link(doc: &BoardDoc) -> String {
    let link = &doc.link;
    let trip = link.round_trip_ms.map_or_else(String::new, |ms| format!("; round trip {ms}ms"));
    format!(
        "{} bad, {} replayed, {} refused of {} frames{trip}",
        counted(link.bad),
        counted(link.replayed),
        counted(link.refused),
        counted(link.frames)
    )
}

fn board(doc: &BoardDoc) -> String {
    let bites = if doc.bites == 1 { "bite" } else { "bites" };
    let store = if doc.store_ok { "ok" } else { "FAILING" };
    let start = if doc.power_up { "power-on" } else { "reset of the board alone" };
    format!(
        "own watchdog fed, {} {bites}; store {store}, {} of {} records; last start: {start}",
        doc.bites, doc.store_used, doc.store_size
    )
}

/// `236,160`
fn counted(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a test looked at: a name, whether it is well, and what was found.
#[must_use]
pub fn test(doc: &BoardDoc) -> Vec<(&'static str, bool, String)> {
    let known = doc.device.is_some();
    let fresh = doc.fed_ago_ms.is_some_and(|ago| ago < doc.timeout_ms / 2);
    if is_simple(doc) {
        let fed = doc.fed_ago_ms.map(|ago| format!("fed {} ago", span::compact(ago)));
        let timeout = format!("{}{}", span::window_in_seconds(doc.timeout_ms), chosen(doc));
        let timeout = if doc.armed { timeout } else { doc.cause.clone() };
        return vec![
            ("feeds", fresh, fed.unwrap_or_else(|| doc.cause.clone())),
            ("time-out", doc.settings_echoed, timeout),
            ("noise", doc.noise == 0, format!("{} bytes", counted(doc.noise))),
            ("armed", doc.armed, doc.cause.clone()),
        ];
    }
    let mut rows = vec![
        (
            "link",
            known && fresh,
            match doc.fed_ago_ms {
                Some(ago) => format!("fed {} ago; {}", span::compact(ago), link(doc)),
                None => doc.cause.clone(),
            },
        ),
        ("key", known, doc.key.clone().unwrap_or_else(|| doc.cause.clone())),
    ];
    if known {
        let firmware = doc.firmware.clone().unwrap_or_default();
        rows.extend([
            ("versions", doc.firmware.is_some(), {
                let image =
                    doc.image.as_ref().map_or_else(String::new, |id| format!(", image {id}"));
                format!("firmware {firmware}{image}, wire 1")
            }),
            (
                "settings",
                doc.settings_echoed,
                match doc.settings_echoed {
                    true => "echoed as sent".to_owned(),
                    false => "not those of the configuration".to_owned(),
                },
            ),
            ("jumper", !doc.jumper, if doc.jumper { "set: off" } else { "out" }.to_owned()),
            ("lines", !doc.reset_held && doc.reset_high != Some(false), pins(doc)),
            (
                "second",
                doc.second_reads.is_none_or(|on| on == doc.second_on),
                match doc.second_reads {
                    None => "not read back".to_owned(),
                    Some(on) => format!("its pin reads {}", if on { "on" } else { "released" }),
                },
            ),
            ("watchdog", doc.bites == 0, format!("{} bites", doc.bites)),
            ("store", doc.store_ok, format!("{} of {} records", doc.store_used, doc.store_size)),
        ]);
    }
    rows.push(("armed", doc.armed, doc.cause.clone()));
    rows
}

/// The same as lines.
#[must_use]
pub fn rows(rows: &[(&'static str, bool, String)], paint: Paint) -> String {
    let mut text = String::new();
    for (name, well, found) in rows {
        let word = if *well { paint.status("ok", "ok") } else { paint.alarm("NO") };
        text.push_str(&format!("{name:<9} {word}  {found}\n"));
    }
    text
}

/// The board's own log.
#[must_use]
pub fn log(entries: &[BoardEntryDoc]) -> String {
    let line = |entry: &BoardEntryDoc| {
        format!(
            "{:>6}  powered {:>8}  {}\n",
            entry.number,
            span::compact(entry.powered_ms),
            entry.text
        )
    };
    if entries.is_empty() { "nothing yet\n".to_owned() } else { entries.iter().map(line).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::model::{BoardLinkDoc, BoardResetDoc};
    use super::*;

    fn doc() -> BoardDoc {
        BoardDoc {
            port: "/dev/giveover-board".to_owned(),
            armed: true,
            state: "armed".to_owned(),
            cause: "armed".to_owned(),
            board: Some("rp-pico".to_owned()),
            device: Some("6614-04D3".to_owned()),
            firmware: Some("0.4.0".to_owned()),
            key: Some("3f9a".to_owned()),
            up_ms: Some(41 * 86_400_000),
            timeout_ms: 60_000,
            fed_ago_ms: Some(3_000),
            feeds: 236_160,
            longest_gap_ms: 16_000,
            retry_count: 3,
            retry_interval_ms: 6 * 3_600_000,
            last_reset: Some(BoardResetDoc {
                at: "2026-10-02T03:14:07.000Z".to_owned(),
                why: "silence".to_owned(),
                cause: "no feed for 60s".to_owned(),
                up_after_ms: Some(38_000),
                confirmed_after_ms: Some(300_000),
            }),
            reset_high: Some(true),
            second: "none".to_owned(),
            host_power: true,
            settings_echoed: true,
            link: BoardLinkDoc {
                frames: 236_165,
                round_trip_ms: Some(2),
                ..BoardLinkDoc::default()
            },
            store_ok: true,
            store_used: 31,
            store_size: 512,
            power_up: true,
            ..BoardDoc::default()
        }
    }

    #[test]
    fn a_second_line_that_reads_otherwise_is_said() {
        let alarm = BoardDoc { second_on: true, second: "alarm".to_owned(), ..doc() };
        let reads = |reads| BoardDoc { second_reads: reads, ..alarm.clone() };
        let row = |doc: &BoardDoc| test(doc).into_iter().find(|row| row.0 == "second");
        assert!(pins(&reads(Some(true))).contains("second line (alarm) ON; jumper"));
        assert!(pins(&reads(Some(false))).contains("second line (alarm) ON, reads OFF; jumper"));
        let found = |words: &str, well| Some(("second", well, words.to_owned()));
        assert_eq!(row(&reads(Some(true))), found("its pin reads on", true));
        assert_eq!(row(&reads(Some(false))), found("its pin reads released", false));
        assert_eq!(row(&reads(None)), found("not read back", true));
    }

    #[test]
    fn the_screen_is_the_interfaces() {
        let expected = "\
/dev/giveover-board   rp-pico 6614-04D3, firmware 0.4.0, key 3f9a, up 41d

state    armed, 60s; fed 3s ago (236,160 feeds); longest gap 16s; 0 near misses
resets   0 of 3 in 6h; last 2026-10-02 03:14:07: no feed for 60s; up in 38s, confirmed in 5m
lines    reset released, reads high; second line (none) released; jumper out; host power on
link     0 bad, 0 replayed, 0 refused of 236,165 frames; round trip 2ms
board    own watchdog fed, 0 bites; store ok, 31 of 512 records; last start: power-on
";
        assert_eq!(screen(&doc(), Paint::PLAIN), expected);
    }

    #[test]
    fn the_line_of_the_whole_status_is_the_interfaces() {
        assert_eq!(line(&doc()), "armed 60s, fed 3s ago, resets 0 of 3 in 6h");
        let lost = BoardDoc { armed: false, cause: "no answer".to_owned(), ..doc() };
        assert_eq!(line(&lost), "NOT ARMED: no answer; this host is unguarded");
    }

    #[test]
    fn not_armed_says_why_and_what_to_do() {
        let doc = BoardDoc {
            armed: false,
            state: "wrong_key".to_owned(),
            cause: "key refused (ours 3f9a, board's 77c1)".to_owned(),
            remedy: "giveover board pair, with the jumper set at power-up, gives it our key"
                .to_owned(),
            since: Some("2026-10-02T13:40:12.000Z".to_owned()),
            device: None,
            ..doc()
        };
        let text = screen(&doc, Paint::PLAIN);
        assert!(text.contains(
            "state    NOT ARMED: key refused (ours 3f9a, board's 77c1) since 13:40:12; this host is \
             unguarded\n         giveover board pair, with the jumper set at power-up, gives it our \
             key\n"
        ), "{text}");
        assert!(!text.contains("resets "));
        assert!(test(&doc).iter().any(|(name, well, _)| *name == "key" && !well));
    }

    #[test]
    fn hardware_that_knows_only_a_time_out_shows_what_it_has_chosen() {
        let doc = BoardDoc {
            kind: "linux".to_owned(),
            port: "/dev/watchdog".to_owned(),
            board: Some("iTCO_wdt".to_owned()),
            device: None,
            firmware: None,
            key: None,
            up_ms: None,
            wanted_ms: Some(60_000),
            timeout_ms: 62_000,
            pretimeout_ms: Some(10_000),
            has_reset: Some(false),
            settings_echoed: false,
            ..doc()
        };
        let expected = "\
/dev/watchdog   linux, iTCO_wdt

state    armed, 62s (60s was asked); fed 3s ago (236,160 feeds); longest gap 16s; 0 near misses
board    the kernel warns itself 10s before; it goes on when a daemon is killed; the last start of \
this host was not its doing
";
        assert_eq!(screen(&doc, Paint::PLAIN), expected);
        assert_eq!(line(&doc), "armed 62s (60s was asked), fed 3s ago");
        let rows = rows(&test(&doc), Paint::PLAIN);
        assert!(rows.contains("time-out  NO  62s (60s was asked)\n"), "{rows}");
        let stick = BoardDoc {
            kind: "stick".to_owned(),
            armed: false,
            cause: "no answer".to_owned(),
            noise: 7,
            ..BoardDoc::default()
        };
        let text = screen(&stick, Paint::PLAIN);
        assert!(text.contains("board    not counting for us; 7 bytes that nobody asked for\n"));
        assert!(test(&stick).iter().all(|(_, well, _)| !well));
    }

    #[test]
    fn a_test_of_a_board_that_is_well_finds_nothing() {
        assert!(test(&doc()).iter().all(|(_, well, _)| *well), "{:?}", test(&doc()));
        let set = BoardDoc { jumper: true, armed: false, ..doc() };
        assert!(rows(&test(&set), Paint::PLAIN).contains("jumper    NO  set: off\n"));
    }
}
