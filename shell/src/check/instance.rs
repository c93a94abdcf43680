//! What a server's own configuration says of how it is to be asked.
//!
//! # Source
//! iPlanet Web Server: `Security` and `Port` of `magnus.conf`. iPlanet Directory Server: it is
//! secure unless `security` is absent from `slapd.conf` or off; its ports are `port` and
//! `secure-port`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use crate::config::instance::{Form, Instance};
use crate::config::plan::{CheckPlan, Kind, Target, Targets};

/// A longer configuration is none.
const MOST: u64 = 1024 * 1024;

/// By which a file is known to be the same: its number, its size, when it was changed.
type Stamp = (u64, u64, i64, i64);

/// How a server is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// In TLS: connect and disconnect are all that is asked.
    pub secure: bool,
    /// Where it listens.
    pub ports: Vec<u16>,
}

/// The configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unparsable;

/// Reads the configuration at `path` as often as it is called, and makes sense of it anew where it has
/// changed.
pub fn reading(
    form: Form,
    path: &str,
) -> impl FnMut() -> Result<Mode, Unparsable> + Send + use<> + 'static {
    let path: Box<str> = path.into();
    let mut kept: Option<(Stamp, Result<Mode, Unparsable>)> = None;
    move || {
        let stamp = stamp(&path);
        if let Some((_, read)) = kept.as_ref().filter(|(known, _)| Some(*known) == stamp) {
            return read.clone();
        }
        let read = read(form, &path);
        kept = stamp.map(|stamp| (stamp, read.clone()));
        read
    }
}

/// By which the file is known; `None` if it is not there.
fn stamp(path: &str) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

/// Reads the configuration at `path`.
///
/// # Errors
/// It cannot be read, or not be made sense of.
fn read(form: Form, path: &str) -> Result<Mode, Unparsable> {
    // A pipe of that name would make `open` wait for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|_| Unparsable)?;
    if !file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MOST) {
        return Err(Unparsable);
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(|_| Unparsable)?;
    parse(form, &text)
}

/// What a configuration says.
///
/// # Errors
/// It makes no sense: a port or a switch that is none.
pub fn parse(form: Form, text: &str) -> Result<Mode, Unparsable> {
    let mut secure = false;
    let (mut ports, mut secure_ports) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(key), value) = (words.next(), words.next()) else { continue };
        match (form, key.to_ascii_lowercase().as_str()) {
            (Form::Magnus, "security") => {
                secure = match value.map(str::to_ascii_lowercase).as_deref() {
                    Some("on") => true,
                    Some("off") => false,
                    _ => return Err(Unparsable),
                };
            }
            // Only off is off: what is named there instead is a grade of security.
            (Form::Slapd, "security") => {
                secure = !value.ok_or(Unparsable)?.eq_ignore_ascii_case("off");
            }
            (_, "port") => ports.push(port(value)?),
            (Form::Slapd, "secure-port" | "secureport") => secure_ports.push(port(value)?),
            _ => {}
        }
    }
    let usual = match (form, secure) {
        (Form::Magnus, false) => 80,
        (Form::Magnus, true) => 443,
        (Form::Slapd, false) => 389,
        (Form::Slapd, true) => 636,
    };
    let mut ports = if secure && form == Form::Slapd { secure_ports } else { ports };
    if ports.is_empty() {
        ports.push(usual);
    }
    Ok(Mode { secure, ports })
}

fn port(value: Option<&str>) -> Result<u16, Unparsable> {
    let port = value.and_then(|digits| digits.parse().ok()).filter(|port| *port > 0);
    port.ok_or(Unparsable)
}

/// Lays what was found over the check as it was written.
pub fn lay(check: &mut CheckPlan, instance: &Instance, mode: &Mode) {
    let found: Option<Targets> = instance.hosts.as_ref().map(|hosts| {
        let each = |host| mode.ports.iter().map(move |port| (host, *port));
        let pairs = hosts.iter().flat_map(each).take(usize::from(u8::MAX));
        pairs.map(|(host, port)| Target { host: host.clone(), port }).collect()
    });
    let targets = found.unwrap_or_else(|| instance.targets.clone());
    let kind = match mode.secure {
        true => Kind::Tcp { send: None, expect: None },
        false => instance.plain.clone(),
    };
    let late = instance.late.filter(|_| !mode.secure);
    if check.targets != targets {
        check.targets = targets;
    }
    if check.kind != kind || check.weights.late != late {
        let question = check.question_mut();
        question.kind = kind;
        question.weights.late = late;
    }
}

/// The check as it was written.
pub fn restore(check: &mut CheckPlan) {
    let Some(instance) = check.instance.clone() else { return };
    check.targets = instance.targets.clone();
    let question = check.question_mut();
    question.kind = instance.plain;
    question.weights.late = instance.late;
}

#[cfg(test)]
mod tests {
    use giveover_core::failure::{Cause, Phase, ProbeResult};
    use giveover_core::weight::Weight;
    use rustix::io::Errno;

    use super::*;
    use crate::check::outcome::Outcome;

    fn mode(form: Form, text: &str) -> Result<(bool, Vec<u16>), Unparsable> {
        parse(form, text).map(|mode| (mode.secure, mode.ports))
    }

    #[test]
    fn a_web_server_says_whether_it_is_secure_and_where_it_listens() {
        // req 1.112 1.113
        let magnus = |text| mode(Form::Magnus, text);
        assert_eq!(magnus("#ServerRoot\nServerID https-x\nPort 8080\n"), Ok((false, vec![8080])));
        assert_eq!(magnus("Security on\nPort 8443\nSSL2 off\n"), Ok((true, vec![8443])));
        assert_eq!(magnus("security OFF\n"), Ok((false, vec![80])));
        assert_eq!(magnus("  # Port x\nSecurity on\n"), Ok((true, vec![443])));
        for bad in
            ["Port x\n", "Port\n", "Port 0\n", "Port 70000\n", "Security maybe\n", "Security"]
        {
            assert_eq!(magnus(bad), Err(Unparsable), "{bad:?}");
        }
    }

    #[test]
    fn a_directory_is_secure_unless_the_keyword_is_absent_or_off() {
        // req 1.128
        let slapd = |text| mode(Form::Slapd, text);
        assert_eq!(slapd(""), Ok((false, vec![389])));
        assert_eq!(slapd("port 1389\nsecurity off\nsecure-port 1636\n"), Ok((false, vec![1389])));
        assert_eq!(slapd("port 1389\nsecurity on\nsecure-port 1636\n"), Ok((true, vec![1636])));
        assert_eq!(slapd("security ssf=128\n"), Ok((true, vec![636])));
        assert_eq!(slapd("security\n"), Err(Unparsable));
    }

    fn directory() -> CheckPlan {
        let text = "[service.d]\ncheck.d = { url = \"directory\", address = [\"10.0.0.1\", \"10.0.0.2\"], \
                    config_file = \"/c\" }\n";
        let loaded = crate::config::load_str("test", text).expect("a plan");
        let service = loaded.plan.services.into_iter().next().expect("a service");
        service.checks.into_vec().remove(0)
    }

    #[test]
    fn what_is_found_is_laid_over_what_is_written_and_taken_off_again() {
        // req 1.129 1.131 1.132
        let written = directory();
        let instance = written.instance.clone().expect("an instance");
        let late = |check: &CheckPlan| Outcome::late(Phase::Connect).weigh(0, &check.weights);
        let cause = Cause::of_check(0, Phase::Connect, Errno::TIMEDOUT.raw_os_error() as u16);
        let failed = |weight| ProbeResult::Failed(weight, cause);
        assert_eq!(late(&written), failed(Weight::HALF));
        let lack = Outcome::Lacking { phase: Phase::Connect, code: cause.code };
        assert_eq!(lack.weigh(0, &written.weights), failed(Weight::HALF), "it cannot be made");
        let mut check = written.clone();
        lay(&mut check, &instance, &Mode { secure: true, ports: vec![636, 1636] });
        let asked: Vec<String> =
            check.targets.iter().map(|it| format!("{}:{}", it.host, it.port)).collect();
        assert_eq!(asked, ["10.0.0.1:636", "10.0.0.1:1636", "10.0.0.2:636", "10.0.0.2:1636"]);
        assert_eq!((check.kind.word(), check.word()), ("tcp", "directory"));
        assert_eq!(late(&check), failed(Weight::COMPLETE), "secure: a time-out is complete");
        lay(&mut check, &instance, &Mode { secure: false, ports: vec![389] });
        assert_eq!(late(&check), failed(Weight::HALF));
        restore(&mut check);
        assert_eq!(check, written);
    }

    #[test]
    fn what_is_no_text_or_no_file_cannot_be_used() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("magnus.conf");
        std::fs::write(&path, b"Port \xff\n").expect("a file");
        let path = path.to_str().expect("a path");
        for path in [path, "/no/such/file", "/proc", "/dev/zero"] {
            assert_eq!(read(Form::Magnus, path), Err(Unparsable), "{path}");
        }
        assert!(stamp(path).is_some() && stamp("/no/such/file").is_none());
    }

    #[test]
    fn it_is_read_again_when_it_has_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("magnus.conf");
        let mut reading = reading(Form::Magnus, path.to_str().expect("a path"));
        assert_eq!(reading(), Err(Unparsable));
        for (text, wanted) in [
            ("Port 80\n", Ok((false, vec![80]))),
            ("Port 80\nSecurity on\n", Ok((true, vec![80]))),
            ("Port eighty\n", Err(Unparsable)),
            ("Port 81\n", Ok((false, vec![81]))),
        ] {
            std::fs::write(&path, text).expect("a file");
            for _ in 0..2 {
                assert_eq!(reading().map(|mode| (mode.secure, mode.ports)), wanted, "{text:?}");
            }
        }
    }

    /// Cut short at every byte, or garbled at it, it is one configuration or none: nothing panics, and
    /// no line that makes no sense is taken for another.
    #[test]
    fn a_configuration_that_is_cut_short_or_garbled_is_another_or_none() {
        const MAGNUS: &[u8] = b"# web\nServerID https-x\nPort 8443\nSecurity on\n";
        const SLAPD: &[u8] = b"# dir\nport 1389\nsecurity on\nsecure-port 1636\n";
        for (form, whole) in [(Form::Magnus, MAGNUS), (Form::Slapd, SLAPD)] {
            let parse = |bytes: &[u8]| match std::str::from_utf8(bytes) {
                Ok(text) => mode(form, text),
                Err(_) => Err(Unparsable),
            };
            let port_at = whole.windows(5).position(|it| it.eq_ignore_ascii_case(b"port "));
            let port_at = port_at.expect("a port");
            for length in 0..=whole.len() {
                let found = parse(&whole[..length]);
                // Between the word and its first digit there is a port without a number.
                assert!(found.is_ok() || length >= port_at + 4, "{form:?}, {length}: {found:?}");
                for byte in [0, b'\n', b'x', 0xFF] {
                    let mut garbled = whole.to_vec();
                    if let Some(place) = garbled.get_mut(length) {
                        *place = byte;
                    }
                    let found = parse(&garbled);
                    assert!(byte != 0xFF || length == whole.len() || found == Err(Unparsable));
                }
            }
            let digits = &whole[..port_at + 5];
            assert_eq!(parse(digits), Err(Unparsable), "a port without a number");
        }
    }
}
