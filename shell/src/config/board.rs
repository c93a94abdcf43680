//! `[board]`: the hardware that resets this host.

use std::path::PathBuf;

use giveover_core::board::{Second, Settings, SettingsError};
use giveover_core::shadow;
use giveover_core::time::Span;

use super::plan::{BoardKind, BoardPlan, GoesTo, ServicePlan};
use super::quantity::{readable, written};
use super::reader::{Reader, header};
use super::report::Findings;
use super::schema;
use super::source::Place;
use super::tree::{Entry, Node, Table, Value};
use super::values;
use super::warning;

/// The longest wait before a boot is confirmed.
const MOST_CONFIRM: Span = Span::from_secs(3600);
const USUAL_CONFIRM: Span = Span::from_secs(300);

/// What a USB stick of one byte a command counts in, and the least and most of it.
const STICK_UNIT: Span = Span::from_secs(10);
const STICK: (Span, Span) = (STICK_UNIT, Span::from_secs(1270));

/// Keys that only a board with our firmware knows.
const OURS: [&str; 7] =
    ["key", "link_timeout", "pulse", "confirm_after", "policy", "giveover", "shadow"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Giveover,
    Linux,
    Stick,
}

impl Kind {
    const WORDS: [&str; 3] = ["giveover", "linux", "stick"];
    const ALL: [Self; 3] = [Self::Giveover, Self::Linux, Self::Stick];
}

/// Reads `[board]`; `None` where there is none, or where it is wrong and that has been said.
pub(super) fn board(entry: Option<&Entry>, out: &mut Findings) -> Option<Box<BoardPlan>> {
    let entry = entry?;
    let table = values::table("board", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "board".to_owned(), &[schema::BOARD], out);
    // The rest of one whose kind nobody knows is judged as that of the usual one.
    let kind = kind(&reader, out);
    let plan = match kind.unwrap_or(Kind::Giveover) {
        Kind::Giveover => ours(&reader, out),
        Kind::Linux => linux(&reader, out),
        Kind::Stick => stick(&reader, out),
    };
    kind.and(plan).map(Box::new)
}

/// A board with our firmware.
fn ours(reader: &Reader<'_>, out: &mut Findings) -> Option<BoardPlan> {
    foreign(reader, &["pretimeout"], "giveover", out);
    let port = needed(reader, "port", values::path, "\"/dev/giveover-board\"", out);
    let key = needed(reader, "key", values::secret_file, "\"/etc/giveover/keys/board.key\"", out);
    let settings = settings(reader, out);
    let confirm = (Span::from_secs(1), MOST_CONFIRM);
    let confirm_after = reader.read("confirm_after", within(confirm), out);
    let (required, shadow) = (required(reader, out), shadow(reader, out));
    reader.read("allow", warning::allowed, out);
    Some(BoardPlan {
        kind: BoardKind::Giveover { key: PathBuf::from(key?) },
        port: PathBuf::from(port?),
        settings,
        confirm_after: confirm_after.unwrap_or(USUAL_CONFIRM),
        required,
        shadow,
    })
}

/// What the board is told, from a table that has these keys.
pub(super) fn settings(reader: &Reader<'_>, out: &mut Findings) -> Settings {
    let default = Settings::DEFAULT;
    let timeout = (Settings::LEAST_TIMEOUT, Settings::MOST_TIMEOUT);
    let pulse = (Settings::LEAST_PULSE, Settings::MOST_PULSE);
    let timeout = reader.read("timeout", within(timeout), out).unwrap_or(default.timeout);
    // A time-out that is longer than the usual wait for a lost port takes that along.
    let link_default = default.link_timeout.max(timeout);
    let link = (timeout, Settings::MOST_GRACE);
    let settings = Settings {
        timeout,
        link_timeout: reader.read("link_timeout", within(link), out).unwrap_or(link_default),
        pulse: reader.read("pulse", within(pulse), out).unwrap_or(default.pulse),
        second: reader.read("giveover", second, out).unwrap_or(default.second),
        ..policy(reader.entry("policy"), out)
    };
    let settings = common(reader, settings, out);
    judge(reader, &settings, out);
    settings
}

/// A watchdog of the kernel's.
fn linux(reader: &Reader<'_>, out: &mut Findings) -> Option<BoardPlan> {
    foreign(reader, &OURS, "linux", out);
    let port = reader.read("port", values::path, out);
    let range = (Settings::LEAST_TIMEOUT, Settings::MOST_TIMEOUT);
    let second = Span::from_secs(1);
    let timeout = reader.read("timeout", counted(range, second), out);
    let timeout = timeout.unwrap_or(Settings::DEFAULT.timeout);
    let last = timeout.as_millis().saturating_sub(second.as_millis());
    let before = (second, Span::from_millis(last).max(second));
    let pretimeout = reader.read("pretimeout", counted(before, second), out);
    reader.read("allow", warning::allowed, out);
    Some(BoardPlan {
        kind: BoardKind::Linux { pretimeout },
        port: PathBuf::from(port.unwrap_or("/dev/watchdog")),
        settings: simple(reader, timeout, out),
        confirm_after: USUAL_CONFIRM,
        required: required(reader, out),
        shadow: false,
    })
}

/// A USB stick of one byte a command.
fn stick(reader: &Reader<'_>, out: &mut Findings) -> Option<BoardPlan> {
    foreign(reader, &OURS, "stick", out);
    foreign(reader, &["pretimeout"], "stick", out);
    let port = needed(reader, "port", values::path, "\"/dev/serial/by-id/…\"", out);
    let timeout = reader.read("timeout", counted(STICK, STICK_UNIT), out);
    let timeout = timeout.unwrap_or(Settings::DEFAULT.timeout);
    let settings = simple(reader, timeout, out);
    let allow = reader.read("allow", warning::allowed, out).unwrap_or_default();
    if !allow.contains(&warning::STICK) {
        let left = if settings.nowayout { settings.timeout } else { STICK.1 };
        let message = format!(
            "board: a stick counts on when the daemon has stopped, and resets this host after {}",
            readable(u64::from(left.as_millis()))
        );
        let place = reader.entry("kind").map_or(reader.header, |entry| entry.place);
        let finding = out.warning(warning::STICK, place, message);
        warning::or_allow(finding.label("unplug it before a longer stop"), "board");
    }
    Some(BoardPlan {
        kind: BoardKind::Stick,
        port: PathBuf::from(port?),
        settings,
        confirm_after: USUAL_CONFIRM,
        required: required(reader, out),
        shadow: false,
    })
}

/// `shadow = true`: at most four services, none with more to remember than a board has room for.
pub(super) fn judge_shadows(
    entry: Option<&Entry>,
    board: Option<&BoardPlan>,
    services: &[ServicePlan],
    out: &mut Findings,
) {
    let Some(table) = entry.and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }) else {
        return;
    };
    let (Some(shadow), true) = (table.get("shadow"), board.is_some_and(|board| board.shadow))
    else {
        return;
    };
    let place = shadow.node.place;
    let shadowed = || services.iter().filter(|service| service.giveover == GoesTo::Board);
    match shadowed().count() {
        0 => {
            let finding = out.error(place, "shadow: no service gives over to the board");
            finding.label("only monitors of services with giveover = \"board\" are shadowed");
        }
        count if count > shadow::MOST => {
            let message = format!("shadow: {count} services give over to the board");
            out.error(place, message).label(format!("a board shadows {} at most", shadow::MOST));
        }
        _ => {}
    }
    for service in shadowed() {
        let (needs, has) = (service.policy.capacity(), shadow::CAPACITY);
        let fits = needs.failures <= has.failures
            && needs.restarts <= has.restarts
            && needs.starts <= has.starts;
        if !fits {
            let message = format!("shadow: {} remembers more than a board can", service.name);
            let label = format!(
                "a board has room for weights of at least {}, and for {} restarts",
                100_u16.div_ceil(has.failures),
                has.restarts
            );
            out.error(place, message).label(label);
        }
    }
}

/// The settings of hardware that knows no more than a time-out.
fn simple(reader: &Reader<'_>, timeout: Span, out: &mut Findings) -> Settings {
    let settings = Settings { timeout, retry_count: 0, second: Second::None, ..Settings::DEFAULT };
    common(reader, settings, out)
}

/// What every kind has.
fn common(reader: &Reader<'_>, settings: Settings, out: &mut Findings) -> Settings {
    let grace = (Settings::LEAST_GRACE, Settings::MOST_GRACE);
    let boot_grace = reader.read("boot_grace", within(grace), out);
    let nowayout = reader.read("nowayout", values::boolean, out);
    Settings {
        boot_grace: boot_grace.unwrap_or(settings.boot_grace),
        nowayout: nowayout.unwrap_or(settings.nowayout),
        ..settings
    }
}

fn required(reader: &Reader<'_>, out: &mut Findings) -> bool {
    reader.read("required", values::boolean, out).unwrap_or(false)
}

fn shadow(reader: &Reader<'_>, out: &mut Findings) -> bool {
    reader.read("shadow", values::boolean, out).unwrap_or(false)
}

/// Keys that mean nothing to hardware of this kind.
fn foreign(reader: &Reader<'_>, keys: &[&str], kind: &str, out: &mut Findings) {
    for key in keys {
        if let Some(entry) = reader.entry(key) {
            let message = format!("{key}: means nothing with kind = \"{kind}\"");
            let why = match *key {
                "pretimeout" => "only the kernel warns itself, kind = \"linux\"",
                "policy" | "giveover" => "it has no budget: the host's own, 3 resets in 1h, holds",
                _ => "only a board with our firmware knows it",
            };
            out.error(entry.place, message).label(why);
        }
    }
}

/// What kind it is; `None` where nobody knows, which has been said.
fn kind(reader: &Reader<'_>, out: &mut Findings) -> Option<Kind> {
    if !reader.has("kind") {
        return Some(Kind::Giveover);
    }
    let place = reader.read("kind", values::one_of(&Kind::WORDS), out)?;
    Kind::ALL.get(place).copied()
}

fn needed<'t>(
    reader: &Reader<'t>,
    key: &str,
    take: impl Fn(&str, &'t Node, &mut Findings) -> Option<&'t str>,
    likely: &str,
    out: &mut Findings,
) -> Option<&'t str> {
    if !reader.has(key) {
        let finding = out.error(reader.header, format!("board: needs `{key}`"));
        finding.label(format!("{key} = {likely}")).of_absence();
        return None;
    }
    reader.read(key, take, out)
}

fn within((least, most): (Span, Span)) -> impl Fn(&str, &Node, &mut Findings) -> Option<Span> {
    move |key, node, out| {
        let span = values::span(key, node, out)?;
        if span >= least && span <= most {
            return Some(span);
        }
        let message = format!("{key}: must be {} to {}", written(least), written(most));
        out.error(node.place, message);
        None
    }
}

/// The same, in whole units.
fn counted(range: (Span, Span), unit: Span) -> impl Fn(&str, &Node, &mut Findings) -> Option<Span> {
    move |key, node, out| {
        let span = within(range)(key, node, out)?;
        if span.as_millis() % unit.as_millis() == 0 {
            return Some(span);
        }
        let message = format!("{key}: is counted in whole units of {}", written(unit));
        out.error(node.place, message);
        None
    }
}

fn second(key: &str, node: &Node, out: &mut Findings) -> Option<Second> {
    const WORDS: &[&str] = &["alarm", "off", "cycle", "none"];
    let place = values::one_of(WORDS)(key, node, out)?;
    [Second::Alarm, Second::Off, Second::Cycle, Second::None].get(place).copied()
}

/// The board's budget: of a policy's limits only these two mean anything there.
fn policy(entry: Option<&Entry>, out: &mut Findings) -> Settings {
    let default = Settings::DEFAULT;
    let nothing = Table::default();
    let table = entry.and_then(|entry| values::table("policy", &entry.node, out));
    let place = entry.map_or(Place::whole(0), header);
    let (path, keys) = ("board.policy".to_owned(), schema::BOARD_POLICY);
    let reader = Reader::new(table.unwrap_or(&nothing), place, path, &[keys], out);
    let most = i64::from(Settings::MOST_RESETS);
    let retry_count = reader.read("retry_count", values::number(0..=most), out);
    let retry_interval = reader.read("retry_interval", values::positive_span, out);
    Settings {
        retry_count: retry_count.unwrap_or(default.retry_count),
        retry_interval: retry_interval.unwrap_or(default.retry_interval),
        ..default
    }
}

/// What the values are together. Each by itself is in range, or has been complained of.
fn judge(reader: &Reader<'_>, settings: &Settings, out: &mut Findings) {
    let Err(SettingsError::RetryInterval { least_ms }) = settings.policy() else { return };
    let least = u32::try_from(least_ms.div_ceil(1000) * 1000).unwrap_or(u32::MAX);
    let least = written(Span::from_millis(least));
    let message = "policy: the resets would be forgotten before they are used up: never given over";
    let label =
        format!("retry_interval must be at least retry_count × (timeout + boot_grace), {least}");
    out.error(reader.place("policy"), message).label(label);
}
