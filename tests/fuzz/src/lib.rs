//! Bytes from outside, as a fuzzer invents them: nothing may panic, and a verdict must not depend
//! on how the bytes were cut.

use std::io::{Seek, Write};
use std::sync::Mutex;

use giveover::check::agent::beat::Beat;
use giveover::check::database::overhear;
use giveover::check::dialogue::{Dialogue, overhear as overhear_datagram};
use giveover::check::outcome::{Outcome, Step};
use giveover::check::tls::{Session, Trusted};
use giveover::check::{exports, instance};
use giveover::config;
use giveover::config::instance::Form;
use giveover::config::plan::{CheckPlan, Kind};
use giveover::config::tls::TlsPlan;
use giveover::journal::Reader;
use giveover_core::wire::{BoardEnd, Decoder, HostEnd, Key, Raw};

pub use libfuzzer_sys;

/// A target that is the other side of a check, written as in a configuration.
#[macro_export]
macro_rules! dialogue {
    ($table:literal) => {
        static CHECK: std::sync::LazyLock<giveover::config::plan::CheckPlan> =
            std::sync::LazyLock::new(|| $crate::check($table));
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::converse(&CHECK, bytes));
    };
}

/// A target that is what comes by datagram to such a check.
#[macro_export]
macro_rules! datagrams {
    ($table:literal) => {
        static CHECK: std::sync::LazyLock<giveover::config::plan::CheckPlan> =
            std::sync::LazyLock::new(|| $crate::check($table));
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::datagram(&CHECK, bytes));
    };
}

/// The check a table stands for.
///
/// # Panics
/// It is none: a mistake in a target.
#[must_use]
pub fn check(table: &str) -> CheckPlan {
    let text = format!("[service.s]\ncheck.c = {table}\n");
    let loaded = config::load_str("target", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let service = loaded.plan.services.into_iter().next().expect("a service");
    service.checks.into_vec().remove(0)
}

/// The other side says `bytes`, once in one piece and once cut: the verdicts must agree.
///
/// # Panics
/// They do not.
pub fn converse(check: &CheckPlan, bytes: &[u8]) {
    let whole = verdict(&check.kind, std::iter::once(bytes));
    let cut = verdict(&check.kind, pieces(bytes));
    assert_eq!(whole, cut, "the verdict depends on how the bytes were cut");
    let each = verdict(&check.kind, bytes.chunks(1));
    assert_eq!(whole, each, "the verdict depends on the bytes coming one by one");
}

fn verdict<'a>(kind: &Kind, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let mut dialogue = match kind {
        Kind::Tls(plan) => Dialogue::Tls(Box::new(session(plan))),
        kind => Dialogue::of(kind).expect("a dialogue"),
    };
    let mut words = Vec::new();
    let _ = dialogue.words(kind, &mut words);
    for piece in pieces {
        match dialogue.on_bytes(kind, piece) {
            Step::More => {}
            Step::Say => {
                let _ = dialogue.words(kind, &mut words);
            }
            Step::Done { outcome, .. } | Step::Leave { outcome, .. } => return outcome,
        }
    }
    dialogue.on_close(kind)
}

fn session(plan: &TlsPlan) -> Session {
    static TRUSTED: Mutex<Option<Trusted>> = Mutex::new(None);
    let mut trusted = TRUSTED.lock().expect("nobody panicked");
    let config = trusted.get_or_insert_default().config(&plan.trust).expect("no roots are needed");
    let name = "127.0.0.1".try_into().expect("a name");
    Session::begin(plan, config, name, false).expect("a session")
}

/// Pieces of lengths that the bytes themselves choose, some of them empty.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    let mut random = bytes.iter().fold(0x9E37_79B9_u32, |sum, byte| {
        sum.rotate_left(5).wrapping_add(u32::from(*byte)).wrapping_mul(0x9E37_79B1)
    });
    std::iter::from_fn(move || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (random >> 24) as usize % 20;
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        let more = !rest.is_empty();
        rest = behind;
        more.then_some(piece)
    })
}

/// What a database says to its monitor is heard alike however it was cut.
///
/// # Panics
/// It is not.
pub fn database(bytes: &[u8]) {
    let cuts: Vec<&[u8]> = pieces(bytes).collect();
    let whole = overhear(std::iter::once(bytes));
    assert_eq!(whole, overhear(cuts.into_iter()), "what is heard depends on the cuts");
    assert_eq!(whole, overhear(bytes.chunks(1)), "what is heard depends on single bytes");
}

/// Whatever comes by datagram, it is taken for something or passed over.
pub fn datagram(check: &CheckPlan, bytes: &[u8]) {
    let _ = overhear_datagram(&check.kind, bytes);
}

/// A heartbeat is one, or it is none; cut short it never is.
///
/// # Panics
/// It is.
pub fn heartbeat(bytes: &[u8]) {
    if Beat::parse(bytes).is_some() {
        let cuts = (0..bytes.len()).map(|length| &bytes[..length]);
        assert!(cuts.into_iter().all(|cut| Beat::parse(cut).is_none()), "half of it is one too");
    }
}

/// Whatever stands in a server's own configuration, or in a list of exports, it is read or refused.
///
/// # Panics
/// A port is none.
pub fn of_servers(text: &str) {
    for form in [Form::Magnus, Form::Slapd] {
        if let Ok(mode) = instance::parse(form, text) {
            assert!(mode.ports.iter().all(|port| *port > 0));
        }
    }
    let _ = exports::paths(text);
}

/// Whatever stands in a configuration, it is read or refused.
pub fn configuration(text: &str) {
    match config::load_str("input", text) {
        Ok(loaded) => drop(loaded.warnings.to_string()),
        Err(errors) => drop(errors.to_string()),
    }
}

/// Whatever stands in a file of scenarios, it is played or refused.
pub fn scenario(text: &str) {
    if let Ok(scenarios) = config::scenario::load_str("input", text) {
        for scenario in &scenarios {
            let _ = giveover::sim::play(scenario);
        }
    }
}

/// Whatever a journal's file holds, it is read as far as it is whole.
///
/// # Panics
/// There is no place for a file.
pub fn journal(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    let Ok(reader) = Reader::open_file(file.path()) else { return };
    let mut lines = reader.lines();
    while lines.by_ref().next().is_some() {}
    let _ = lines.lost().len();
}

/// Whatever comes over the line between host and board, both ends count it and go on. The bytes
/// are what stands on the line, and once more one frame whose check sum happens to be right.
pub fn wire(bytes: &[u8]) {
    let key = Key::new([7; Key::BYTES]);
    let mut decoder = Decoder::new();
    let mut board = BoardEnd::new(Some(key), 1);
    let mut host = HostEnd::new(key, 2);
    for byte in bytes {
        if let Some(Ok(raw)) = decoder.push(*byte) {
            let _ = (board.open(&raw).is_ok(), host.open(&raw).is_ok());
        }
    }
    if let Some((&kind, body)) = bytes.split_first() {
        let raw = Raw { kind, body };
        let _ = (board.open(&raw).is_ok(), host.open(&raw).is_ok());
    }
}
