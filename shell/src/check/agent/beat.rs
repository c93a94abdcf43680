//! One heartbeat, as it is sent: a line of text, bounded, with a signature at its end if a key is
//! shared.
//!
//! ```text
//! giveover-agent/1 web-1 1796034096123 load=0.42 unit=db:0 unit=queue:3 mac=64 digits
//! ```
//! The name, the sender's time in milliseconds since 1970, which grows with each heartbeat, a load,
//! and work units with the codes of their ends (0 is well). What it does not know it passes over.
//! The end of the line is part of it, in a datagram too: one that was cut short on its way has lost
//! that first, and is none.

use std::fmt::Write as _;

use ring::hmac;

use crate::config::agent::MOST_UNITS;
use crate::config::words::is_name;

/// No heartbeat is longer, in bytes: it fits into one packet.
pub const LONGEST: usize = 1400;

const BEGINNING: &str = "giveover-agent/1";
const SIGNATURE: &str = " mac=";
const DIGITS: usize = 64;

/// What heartbeats are signed with: HMAC with SHA-256.
#[derive(Clone, Debug)]
pub struct Key(hmac::Key);

impl Key {
    /// The key of these bytes.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }
}

/// A heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat<'b> {
    /// Whose.
    pub name: &'b str,
    /// The sender's time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Its load, in hundredths.
    pub load: Option<u32>,
    /// Work units, with the code of the end of each as causes have it.
    pub units: Vec<(&'b str, u16)>,
    signed: Option<Signed<'b>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signed<'b> {
    text: &'b str,
    mac: [u8; DIGITS / 2],
}

impl<'b> Beat<'b> {
    /// A heartbeat that is not signed yet.
    #[must_use]
    pub const fn new(
        name: &'b str,
        at_ms: u64,
        load: Option<u32>,
        units: Vec<(&'b str, u16)>,
    ) -> Self {
        Self { name, at_ms, load, units, signed: None }
    }

    /// Reads a heartbeat with the end of its line. `None`: it is none, or not whole.
    #[must_use]
    pub fn parse(bytes: &'b [u8]) -> Option<Self> {
        if bytes.len() > LONGEST {
            return None;
        }
        let line = std::str::from_utf8(bytes).ok()?;
        let line = line.strip_suffix('\n')?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.contains(['\n', '\r']) {
            return None;
        }
        let (text, signed) = match line.rsplit_once(SIGNATURE) {
            Some((text, digits)) => (text, Some(Signed { text, mac: mac(digits)? })),
            None => (line, None),
        };
        let mut words = text.split(' ');
        if words.next()? != BEGINNING {
            return None;
        }
        let name = words.next().filter(|name| is_name(name))?;
        let at_ms = decimal(words.next()?)?;
        let mut beat = Self { name, at_ms, load: None, units: Vec::new(), signed };
        for word in words {
            match word.split_once('=')? {
                ("load", value) if beat.load.is_none() => beat.load = Some(hundredths(value)?),
                ("load" | "mac", _) => return None,
                ("unit", value) => {
                    let (unit, code) = value.rsplit_once(':')?;
                    let code = u16::try_from(decimal(code)?).ok()?;
                    let known = beat.units.iter().any(|(known, _)| *known == unit);
                    if !is_name(unit) || known || beat.units.len() >= MOST_UNITS {
                        return None;
                    }
                    beat.units.push((unit, code));
                }
                // Of a later version.
                _ => {}
            }
        }
        Some(beat)
    }

    /// Whether it is signed with `key`. It takes as long whatever is wrong.
    #[must_use]
    pub fn is_signed_with(&self, key: &Key) -> bool {
        let signed = self.signed.as_ref();
        signed
            .is_some_and(|signed| hmac::verify(&key.0, signed.text.as_bytes(), &signed.mac).is_ok())
    }

    /// The heartbeat as it is sent, signed if there is a key, with the end of its line. `None`: it
    /// would be too long, or could not be read again.
    #[must_use]
    pub fn line(&self, key: Option<&Key>) -> Option<String> {
        let mut line = format!("{BEGINNING} {} {}", self.name, self.at_ms);
        let mut add = |text: std::fmt::Arguments<'_>| line.write_fmt(text).ok();
        if let Some(load) = self.load {
            add(format_args!(" load={}.{:02}", load / 100, load % 100))?;
        }
        for (unit, code) in &self.units {
            add(format_args!(" unit={unit}:{code}"))?;
        }
        if let Some(Key(key)) = key {
            let tag = hmac::sign(key, line.as_bytes());
            line.push_str(SIGNATURE);
            for byte in tag.as_ref() {
                write!(line, "{byte:02x}").ok()?;
            }
        }
        line.push('\n');
        let reads = Beat::parse(line.as_bytes()).is_some();
        reads.then_some(line)
    }
}

/// A number of digits only.
fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// A load of at most two places behind the point, in hundredths.
pub fn hundredths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = match part.len() {
        1 => decimal(part)? * 10,
        2 => decimal(part)?,
        _ => return None,
    };
    u32::try_from(decimal(whole)?.checked_mul(100)?.checked_add(part)?).ok()
}

fn mac(digits: &str) -> Option<[u8; DIGITS / 2]> {
    let mut mac = [0; DIGITS / 2];
    if digits.len() != DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in mac.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(mac)
}
