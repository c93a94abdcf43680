//! What a board's configuration asks of this machine.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use super::{key, serial};

/// What is wrong here with the port and with the key's file, each in words and with a remedy.
/// Nothing is opened but the key: a daemon may have the port.
#[must_use]
pub fn seen(port: &Path, key: &Path) -> [Option<(String, String)>; 2] {
    [port_seen(port), key_seen(key)]
}

fn port_seen(path: &Path) -> Option<(String, String)> {
    let shown = path.display();
    let Ok(meta) = fs::metadata(path) else {
        return Some((format!("{shown} is not there"), "is it plugged in and powered?".to_owned()));
    };
    if !meta.file_type().is_char_device() {
        let remedy = "the serial port of the board is wanted".to_owned();
        return Some((format!("{shown} is no serial port"), remedy));
    }
    let name = path.to_string_lossy();
    let moves = name.starts_with("/dev/ttyACM") || name.starts_with("/dev/ttyUSB");
    let stays = serial::by_id(path).filter(|_| moves)?;
    let message = format!("{shown} may be another port after the next boot");
    Some((message, format!("{} stays with the board", stays.display())))
}

fn key_seen(name: &Path) -> Option<(String, String)> {
    let read = key::place(name).and_then(|path| key::read(&path));
    let error = read.err()?;
    let remedy = "giveover board pair makes a key and gives it to the board".to_owned();
    Some((format!("{} {error}", name.display()), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_and_a_key_that_cannot_be_used_are_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let (port, key) = (dir.path().join("tty"), dir.path().join("key"));
        let said = |[port, key]: [Option<(String, String)>; 2]| {
            [port, key].map(|found| found.map(|(message, _)| message).unwrap_or_default())
        };
        let [no_port, no_key] = said(seen(&port, &key));
        assert!(no_port.ends_with("tty is not there") && no_key.contains("key is not there"));
        fs::write(&port, "").expect("a file");
        super::super::key::make(&key).expect("a key");
        let [no_port, no_key] = said(seen(&port, &key));
        assert!(no_port.ends_with("tty is no serial port"), "{no_port}");
        assert_eq!(no_key, "");
        assert_eq!(seen(Path::new("/dev/tty"), &key), [None, None]);
    }
}
