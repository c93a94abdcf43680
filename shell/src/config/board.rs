//! `[board]`: the hardware that resets this host.

use std::path::PathBuf;

use giveover_core::board::{Second, Settings, SettingsError};
use giveover_core::time::Span;

use super::plan::BoardPlan;
use super::quantity::written;
use super::reader::{Reader, header};
use super::report::Findings;
use super::schema;
use super::source::Place;
use super::tree::{Entry, Node, Table};
use super::values;
use super::words;

/// The longest wait before a boot is confirmed.
const MOST_CONFIRM: Span = Span::from_secs(3600);

/// Reads `[board]`; `None` where there is none, or where it is wrong and that has been said.
pub(super) fn board(entry: Option<&Entry>, out: &mut Findings) -> Option<Box<BoardPlan>> {
    let entry = entry?;
    let table = values::table("board", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "board".to_owned(), &[schema::BOARD], out);
    let known = kind(&reader, out);
    if let Some(shadow) = reader.entry("shadow") {
        if reader.read("shadow", values::boolean, out) == Some(true) {
            let finding = out.error(shadow.node.place, "shadow: is not in this version");
            finding.label("take it out: the board trusts the host's own monitors");
        }
    }
    let port = needed(&reader, "port", values::path, "\"/dev/giveover-board\"", out);
    let key = needed(&reader, "key", key_file, "\"/etc/giveover/keys/board.key\"", out);
    let default = Settings::DEFAULT;
    let timeout = (Settings::LEAST_TIMEOUT, Settings::MOST_TIMEOUT);
    let grace = (Settings::LEAST_GRACE, Settings::MOST_GRACE);
    let pulse = (Settings::LEAST_PULSE, Settings::MOST_PULSE);
    let timeout = reader.read("timeout", within(timeout), out).unwrap_or(default.timeout);
    // A time-out that is longer than the usual wait for a lost port takes that along.
    let link_default = default.link_timeout.max(timeout);
    let link = (timeout, Settings::MOST_GRACE);
    let settings = Settings {
        timeout,
        boot_grace: reader.read("boot_grace", within(grace), out).unwrap_or(default.boot_grace),
        link_timeout: reader.read("link_timeout", within(link), out).unwrap_or(link_default),
        pulse: reader.read("pulse", within(pulse), out).unwrap_or(default.pulse),
        second: reader.read("giveover", second, out).unwrap_or(default.second),
        nowayout: reader.read("nowayout", values::boolean, out).unwrap_or(default.nowayout),
        ..policy(reader.entry("policy"), out)
    };
    judge(&reader, &settings, out);
    let confirm = (Span::from_secs(1), MOST_CONFIRM);
    let confirm_after = reader.read("confirm_after", within(confirm), out);
    let required = reader.read("required", values::boolean, out).unwrap_or(false);
    known.then_some(())?;
    Some(Box::new(BoardPlan {
        port: PathBuf::from(port?),
        key: PathBuf::from(key?),
        settings,
        confirm_after: confirm_after.unwrap_or(Span::from_secs(300)),
        required,
    }))
}

/// Whether it is of a kind that this version knows.
fn kind(reader: &Reader<'_>, out: &mut Findings) -> bool {
    let Some(entry) = reader.entry("kind") else { return true };
    let Some(word) = values::text("kind", &entry.node, out) else { return false };
    let remedy = match word {
        "giveover" => return true,
        "linux" => Some("systemd's RuntimeWatchdogSec= feeds /dev/watchdog"),
        "stick" => Some("only a board with our firmware, kind = \"giveover\""),
        _ => None,
    };
    let place = entry.node.place;
    match remedy {
        Some(remedy) => {
            let message = format!("kind: \"{word}\" is not in this version");
            out.error(place, message).label(remedy);
        }
        None => {
            let finding = out.error(place, "kind: must be \"giveover\"");
            if let Some(near) = words::nearest(word, ["giveover"]) {
                finding.label(format!("did you mean `{near}`?"));
            }
        }
    }
    false
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

/// A path, or a bare name under `$CREDENTIALS_DIRECTORY`.
pub(super) fn key_file<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let name = values::word(key, node, out)?;
    if name.starts_with('/') || words::is_name(name) && !name.starts_with('.') {
        return Some(name);
    }
    let message = format!("{key}: must be an absolute path, or the bare name of a credential");
    out.error(node.place, message);
    None
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
