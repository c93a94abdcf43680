//! Lengths of time, sizes and shares as people write them, and back.

use giveover_core::time::Span;

/// Why a text is no quantity. Nothing was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoQuantity {
    /// No number with a unit behind it.
    Form,
    /// A number without a unit.
    NoUnit(String),
    /// A unit we do not know.
    Unit(String),
    /// Units out of order or twice: `30m1h`.
    Order,
    /// More than there is room for.
    TooMuch,
}

/// Units of time, longest first, in milliseconds.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Units of size, longest first, in bytes.
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A length of time: `250ms`, `30s`, `1h30m`, `7d`.
///
/// # Errors
/// See [`NoQuantity`]; `TooMuch` past [`Span::MAX`], some 49 days.
pub fn duration(text: &str) -> Result<Span, NoQuantity> {
    let total = milliseconds(text)?;
    u32::try_from(total).map(Span::from_millis).map_err(|_| NoQuantity::TooMuch)
}

/// A length of time in milliseconds, also one too long for a [`Span`].
///
/// # Errors
/// See [`NoQuantity`].
pub fn milliseconds(text: &str) -> Result<u64, NoQuantity> {
    sum(text, &TIMES)
}

/// A size in bytes: `512B`, `64KiB`, `1MiB`.
///
/// # Errors
/// See [`NoQuantity`]; `TooMuch` from 4 GiB on.
pub fn size(text: &str) -> Result<u32, NoQuantity> {
    u32::try_from(sum(text, &SIZES)?).map_err(|_| NoQuantity::TooMuch)
}

/// A share in percent: `50%`.
///
/// # Errors
/// See [`NoQuantity`]; `TooMuch` past 100 %.
pub fn share(text: &str) -> Result<u8, NoQuantity> {
    match u8::try_from(sum(text, &[("%", 1)])?) {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err(NoQuantity::TooMuch),
    }
}

/// Numbers with their units, one behind the other, each unit smaller than the one before.
fn sum(text: &str, units: &[(&str, u64)]) -> Result<u64, NoQuantity> {
    let (mut rest, mut from, mut total) = (text, 0, 0_u64);
    loop {
        let number = until(rest, |c| !c.is_ascii_digit());
        let behind = rest.get(number.len()..).unwrap_or_default();
        let unit = until(behind, |c| c.is_ascii_digit());
        rest = behind.get(unit.len()..).unwrap_or_default();
        match (number, unit) {
            ("", _) => return Err(NoQuantity::Form),
            (_, "") => return Err(NoQuantity::NoUnit(number.to_owned())),
            (_, unit) if !unit.chars().all(|c| c.is_alphabetic() || c == '%') => {
                return Err(NoQuantity::Form);
            }
            _ => {}
        }
        let Some(at) = units.iter().position(|(name, _)| *name == unit) else {
            return Err(NoQuantity::Unit(unit.to_owned()));
        };
        if at < from {
            return Err(NoQuantity::Order);
        }
        from = at + 1;
        let count: u64 = number.parse().map_err(|_| NoQuantity::TooMuch)?;
        let each = units.get(at).map_or(0, |(_, each)| *each);
        total = count
            .checked_mul(each)
            .and_then(|part| total.checked_add(part))
            .ok_or(NoQuantity::TooMuch)?;
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

fn until(text: &str, stop: impl Fn(char) -> bool) -> &str {
    text.find(stop).map_or(text, |at| text.get(..at).unwrap_or_default())
}

/// A length of time as it would be written in the file: `1h30m`, `600s`, `0s`.
///
/// Seconds below an hour stay seconds, as the documents and most files have them.
#[must_use]
pub fn written(span: Span) -> String {
    let ms = u64::from(span.as_millis());
    match ms {
        0 => "0s".to_owned(),
        _ if ms % 1000 != 0 => format!("{ms}ms"),
        _ if ms < 3_600_000 => format!("{}s", ms / 1000),
        _ => spelled(ms, "", TIMES.len()),
    }
}

/// A length of time for reading: `70s`, `8m 5s`, `1h`, `2d 3h`. At most two units.
#[must_use]
pub fn readable(ms: u64) -> String {
    match ms {
        0 => "0s".to_owned(),
        1..1000 => format!("{ms}ms"),
        1000..120_000 if ms % 1000 == 0 => format!("{}s", ms / 1000),
        1000..120_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => spelled(ms, " ", 2),
    }
}

fn spelled(ms: u64, between: &str, most: usize) -> String {
    let mut rest = ms;
    let mut parts = Vec::new();
    for (name, each) in TIMES {
        if rest >= each {
            parts.push(format!("{}{name}", rest / each));
            rest %= each;
        }
    }
    parts.truncate(most);
    parts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Result<u32, NoQuantity> {
        duration(text).map(Span::as_millis)
    }

    #[test]
    fn durations_are_numbers_with_units_from_long_to_short() {
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("30s"), Ok(30_000));
        assert_eq!(ms("1h30m"), Ok(5_400_000));
        assert_eq!(ms("7d"), Ok(604_800_000));
        assert_eq!(ms("1d2h3m4s5ms"), Ok(93_784_005));
        assert_eq!(ms("0s"), Ok(0));
        assert_eq!(ms("90m"), Ok(5_400_000));
        assert_eq!(ms("007s"), Ok(7000));
    }

    #[test]
    fn what_is_no_duration_says_why() {
        let no_unit = |number: &str| Err(NoQuantity::NoUnit(number.to_owned()));
        let unit = |unit: &str| Err(NoQuantity::Unit(unit.to_owned()));
        assert_eq!(ms("300"), no_unit("300"));
        assert_eq!(ms("1h30"), no_unit("30"));
        assert_eq!(ms("5sec"), unit("sec"));
        assert_eq!(ms("5S"), unit("S"));
        assert_eq!(ms("5µs"), unit("µs"));
        assert_eq!(ms("5us"), unit("us"));
        assert_eq!(ms("1e3s"), unit("e"));
        for text in ["", "s", "soon", "-1s", "1.5s", "1h 30m", " 30s", "30 s", "٣s"] {
            assert_eq!(ms(text), Err(NoQuantity::Form), "{text}");
        }
        for text in ["30m1h", "1h1h", "5ms1s"] {
            assert_eq!(ms(text), Err(NoQuantity::Order), "{text}");
        }
    }

    #[test]
    fn forty_nine_days_are_the_most() {
        assert_eq!(ms("4294967295ms"), Ok(u32::MAX));
        assert_eq!(ms("49d"), Ok(4_233_600_000));
        for text in ["4294967296ms", "50d", "99999999999999999999d", "18446744073709551615d"] {
            assert_eq!(ms(text), Err(NoQuantity::TooMuch), "{text}");
        }
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1MiB512KiB"), Ok(1_572_864));
        assert_eq!(size("512B"), Ok(512));
        assert_eq!(size("4GiB"), Err(NoQuantity::TooMuch));
        assert_eq!(size("64KB"), Err(NoQuantity::Unit("KB".to_owned())));
        assert_eq!(size("64"), Err(NoQuantity::NoUnit("64".to_owned())));
        assert_eq!(share("50%"), Ok(50));
        assert_eq!(share("100%"), Ok(100));
        assert_eq!(share("101%"), Err(NoQuantity::TooMuch));
        assert_eq!(share("300%"), Err(NoQuantity::TooMuch));
        assert_eq!(share("0.5"), Err(NoQuantity::Form));
    }

    #[test]
    fn what_is_written_reads_back() {
        for ms in [0, 1, 999, 1000, 90_000, 600_000, 3_600_000, 5_400_000, 604_800_000, u32::MAX] {
            let span = Span::from_millis(ms);
            assert_eq!(duration(&written(span)), Ok(span), "{}", written(span));
        }
        assert_eq!(written(Span::from_secs(600)), "600s");
        assert_eq!(written(Span::from_secs(5400)), "1h30m");
    }

    #[test]
    fn two_units_are_enough_to_read() {
        assert_eq!(readable(80_000), "80s");
        assert_eq!(readable(485_000), "8m 5s");
        assert_eq!(readable(1_270_000), "21m 10s");
        assert_eq!(readable(3_600_000), "1h");
        assert_eq!(readable(90_061_000), "1d 1h");
        assert_eq!(readable(250), "250ms");
        assert_eq!(readable(1500), "1.5s");
    }
}
