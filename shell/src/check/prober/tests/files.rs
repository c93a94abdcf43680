//! A check's own files, of authorities and of a password: not there, changed, and where nothing answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use giveover_core::failure::Phase;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::check::outcome::Outcome;
use crate::check::secret::NoSecret;
use crate::check::tls::trust_of;
use crate::message::tls;

const PEM: &str = include_str!("../../tls/tests.pem");

/// A check of nobody's port, in TLS by the authorities in `ca`.
fn secure(ca: &Path, port: u16) -> CheckPlan {
    let ca = ca.display();
    of(&format!("{{ url = \"https://127.0.0.1:{port}\", ca = \"{ca}\" }}"))
}

/// A check of nobody's port that gives the password in `file`.
fn knowing(file: &Path, port: u16) -> CheckPlan {
    let file = file.display();
    of(&format!("{{ url = \"redis://127.0.0.1:{port}\", password_file = \"{file}\" }}"))
}

fn of(check: &str) -> CheckPlan {
    let loaded = crate::config::load_str("test", &format!("[service.s]\ncheck.c = {check}\n"));
    let service = loaded.expect("a plan").plan.services.into_iter().next().expect("a service");
    service.checks.into_vec().remove(0)
}

/// Puts a pipe that nobody writes in the place of `path`: who opens it hangs, as on a dead mount.
fn hang(path: &Path) {
    let pipe = path.with_extension("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    fs::rename(&pipe, path).expect("in its place");
}

fn lack(result: ProbeResult) -> u16 {
    match result {
        ProbeResult::CannotMeasure(cause) if cause.phase == Phase::Tls => cause.code,
        other => panic!("{other:?}"),
    }
}

fn is_refused(result: ProbeResult) -> bool {
    matches!(result, ProbeResult::Failed(_, cause) if cause.code == code(Errno::CONNREFUSED))
}

/// What is known of whom `plan` trusts.
fn known(turns: &mut Loop, plan: &CheckPlan) -> Result<(), u16> {
    let trust = trust_of(&plan.kind).expect("it trusts somebody");
    turns.prober.files.trusted.config(trust).map(drop).map_err(|outcome| match outcome {
        Outcome::Lacking { phase: Phase::Tls, code } => code,
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_file_of_authorities_is_read_when_it_is_needed_and_again_when_it_has_changed() {
    let (mut turns, (nobody, _fd)) = (Loop::new(), nobody("127.0.0.1:0"));
    let dir = tempfile::tempdir().expect("a directory");
    let ca = dir.path().join("ca.pem");
    let plan = secure(&ca, nobody.targets[0].port);
    let mut look = |wanted: Result<(), u16>| {
        turns.start(&plan);
        assert!(is_refused(turns.run(&plan)), "whoever is to be trusted");
        assert_eq!(known(&mut turns, &plan), wanted);
        assert!(turns.is_clean());
    };
    look(Err(code(Errno::NOENT)));
    fs::write(&ca, "nothing").expect("a file");
    look(Err(tls::NO_ROOTS));
    fs::write(&ca, PEM).expect("a file");
    look(Ok(()));
    look(Ok(()));
    fs::remove_file(&ca).expect("gone");
    look(Err(code(Errno::NOENT)));
    let listener = listen("127.0.0.1:0");
    let there = secure(&ca, listener.local_addr().expect("its address").port());
    turns.start(&there);
    assert_eq!(lack(turns.run(&there)), code(Errno::NOENT), "it says nothing of the server");
}

#[test]
fn one_that_does_not_answer_keeps_nobody_else_waiting() {
    let (mut turns, (other, _fd)) = (Loop::new(), nobody("127.0.0.1:0"));
    let dir = tempfile::tempdir().expect("a directory");
    let ca = dir.path().join("ca.pem");
    hang(&ca);
    let plan = secure(&ca, other.targets[0].port);
    turns.start(&plan);
    assert!(turns.answered().is_empty());
    turns.start(&other);
    assert!(is_refused(turns.run(&other)));
    turns.expire(&plan);
    assert_eq!(turns.now, Instant::from_millis(1_000_000).after(plan.timeout));
    assert_eq!(lack(turns.answer().result), tls::SILENT_FILE);
    turns.start(&plan);
    turns.expire(&plan);
    assert_eq!(lack(turns.answer().result), tls::SILENT_FILE, "and so it goes on");
    assert!(turns.is_clean());
}

#[test]
fn what_was_read_before_will_do_while_it_does_not_answer() {
    let (mut turns, (nobody, _fd)) = (Loop::new(), nobody("127.0.0.1:0"));
    let dir = tempfile::tempdir().expect("a directory");
    let ca = dir.path().join("ca.pem");
    fs::write(&ca, PEM).expect("a file");
    let plan = secure(&ca, nobody.targets[0].port);
    turns.start(&plan);
    assert!(is_refused(turns.run(&plan)));
    hang(&ca);
    let before = turns.now;
    turns.start(&plan);
    turns.expire(&plan);
    assert_eq!(turns.now, before.after(Span::from_millis(plan.timeout.as_millis() / 4)));
    assert!(is_refused(turns.run(&plan)));
    turns.start(&plan);
    assert!(is_refused(turns.run(&plan)), "at once");
    assert_eq!(turns.now, before.after(Span::from_millis(plan.timeout.as_millis() / 4)));
    assert!(turns.is_clean());
}

#[test]
fn a_password_is_read_for_each_probe_and_its_lack_said_once_somebody_wants_it() {
    let (mut turns, (nobody, _fd)) = (Loop::new(), nobody("127.0.0.1:0"));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("password");
    let plan = knowing(&file, nobody.targets[0].port);
    let mut look = |wanted: Result<&[u8], NoSecret>| {
        turns.start(&plan);
        assert!(is_refused(turns.run(&plan)), "whatever would have been said");
        let found = turns.prober.files.secret(&plan.kind);
        let found = found.map(|secret| secret.map(|it| it.bytes().to_vec()));
        let lacking = |why: NoSecret| Outcome::Lacking { phase: Phase::Answer, code: why.code() };
        assert_eq!(found, wanted.map(|bytes| Some(bytes.to_vec())).map_err(lacking));
        assert!(turns.is_clean());
    };
    let write = |text: &str| {
        let _ = fs::remove_file(&file);
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("its mode");
    };
    look(Err(NoSecret::Absent));
    write("one");
    look(Ok(b"one"));
    write("two");
    look(Ok(b"two"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("its mode");
    look(Err(NoSecret::Open));
    let listener = listen("127.0.0.1:0");
    let there = knowing(&file, listener.local_addr().expect("its address").port());
    turns.start(&there);
    match turns.run(&there) {
        ProbeResult::CannotMeasure(cause) => {
            assert_eq!((cause.phase, cause.code), (Phase::Answer, NoSecret::Open.code()));
        }
        other => panic!("{other:?}"),
    }
}
