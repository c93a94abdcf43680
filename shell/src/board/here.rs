//! What a board's configuration asks of this machine.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use super::{key, serial};
use crate::config::plan::{BoardKind, BoardPlan};

/// What is wrong here with the port and with the key's file, each in words and with a remedy.
/// Nothing is opened but the key: a daemon may have the port, and a watchdog starts by it.
#[must_use]
pub fn seen(plan: &BoardPlan) -> [Option<(String, String)>; 2] {
    match &plan.kind {
        BoardKind::Giveover { key } => [port_seen(&plan.port, "the board"), key_seen(key)],
        BoardKind::Linux { .. } => [dog_seen(&plan.port), None],
        BoardKind::Stick => [port_seen(&plan.port, "the stick"), None],
    }
}

fn dog_seen(path: &Path) -> Option<(String, String)> {
    let shown = path.display();
    match fs::metadata(path) {
        Err(_) => Some((format!("{shown} is not there"), "is its module loaded?".to_owned())),
        Ok(meta) if !meta.file_type().is_char_device() => {
            Some((format!("{shown} is no device"), "/dev/watchdog0 is the first one".to_owned()))
        }
        Ok(_) => None,
    }
}

fn port_seen(path: &Path, whose: &str) -> Option<(String, String)> {
    let shown = path.display();
    let Ok(meta) = fs::metadata(path) else {
        return Some((format!("{shown} is not there"), "is it plugged in and powered?".to_owned()));
    };
    if !meta.file_type().is_char_device() {
        let remedy = format!("the serial port of {whose} is wanted");
        return Some((format!("{shown} is no serial port"), remedy));
    }
    let name = path.to_string_lossy();
    let moves = name.starts_with("/dev/ttyACM") || name.starts_with("/dev/ttyUSB");
    let stays = serial::by_id(path).filter(|_| moves)?;
    let message = format!("{shown} may be another port after the next boot");
    Some((message, format!("{} stays with {whose}", stays.display())))
}

fn key_seen(name: &Path) -> Option<(String, String)> {
    let read = key::place(name).and_then(|path| key::read(&path));
    let error = read.err()?;
    let remedy = "giveover board pair makes a key and gives it to the board".to_owned();
    Some((format!("{} {error}", name.display()), remedy))
}

#[cfg(test)]
mod tests {
    use giveover_core::board::Settings;
    use giveover_core::time::Span;

    use super::*;

    #[test]
    fn a_port_and_a_key_that_cannot_be_used_are_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let (port, key) = (dir.path().join("tty"), dir.path().join("key"));
        let said = |kind: &BoardKind, port: &Path| {
            let plan = BoardPlan {
                kind: kind.clone(),
                port: port.to_path_buf(),
                settings: Settings::DEFAULT,
                confirm_after: Span::from_secs(1),
                required: false,
            };
            seen(&plan).map(|found| found.map(|(message, _)| message).unwrap_or_default())
        };
        let ours = BoardKind::Giveover { key: key.clone() };
        let [no_port, no_key] = said(&ours, &port);
        assert!(no_port.ends_with("tty is not there") && no_key.contains("key is not there"));
        fs::write(&port, "").expect("a file");
        super::super::key::make(&key).expect("a key");
        let [no_port, no_key] = said(&ours, &port);
        assert!(no_port.ends_with("tty is no serial port"), "{no_port}");
        assert_eq!(no_key, "");
        let (linux, stick) = (BoardKind::Linux { pretimeout: None }, BoardKind::Stick);
        assert!(said(&linux, &port)[0].ends_with("tty is no device"));
        assert!(said(&linux, &dir.path().join("none"))[0].ends_with("none is not there"));
        for kind in [&ours, &linux, &stick] {
            assert_eq!(said(kind, Path::new("/dev/tty")), ["", ""]);
        }
    }
}
