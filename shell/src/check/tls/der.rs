//! Until when a certificate is valid: the one field that `rustls` does not tell, read from its
//! DER by hand. A crate that reads all of X.509 would be ten times the code of what it is for.

use crate::check::dialogue::ber;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xA0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The end of a certificate's validity, in seconds since 1970; `None` if it is no certificate.
pub(super) fn not_after(certificate: &[u8]) -> Option<u64> {
    let (SEQUENCE, certificate, _) = ber::next(certificate)? else { return None };
    let (SEQUENCE, mut rest, _) = ber::next(certificate)? else { return None };
    if let (VERSION, _, behind) = ber::next(rest)? {
        rest = behind;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, rest) = ber::next(rest)?;
    }
    let (SEQUENCE, validity, _) = ber::next(rest)? else { return None };
    let (_, _, rest) = ber::next(validity)?;
    let (tag, time, _) = ber::next(rest)?;
    seconds(tag, time)
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ` (RFC 5280, 4.1.2.5).
fn seconds(tag: u8, time: &[u8]) -> Option<u64> {
    let (year, rest) = match tag {
        UTC_TIME => {
            let year = number(time.get(..2)?)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, time.get(2..)?)
        }
        GENERALIZED_TIME => (number(time.get(..4)?)?, time.get(4..)?),
        _ => return None,
    };
    if rest.len() != 11 || rest.last() != Some(&b'Z') {
        return None;
    }
    let mut fields = rest.chunks(2).take(5).map(number);
    let mut next = |range: std::ops::RangeInclusive<u64>| {
        fields.next().flatten().filter(|field| range.contains(field))
    };
    let (month, day) = (next(1..=12)?, next(1..=31)?);
    let (hour, minute, second) = (next(0..=23)?, next(0..=59)?, next(0..=60)?);
    let days = days_since_1970(year, month, day)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| match digit {
        b'0'..=b'9' => Some(sum * 10 + u64::from(digit - b'0')),
        _ => None,
    })
}

/// Days of the Gregorian calendar; `None` before 1970. Years begin in March here, so that the
/// day that is sometimes there comes last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    (365 * year + year / 4 - year / 100 + year / 400 + of_year).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_certificates_have_them() {
        let utc = |text: &str| seconds(UTC_TIME, text.as_bytes());
        let general = |text: &str| seconds(GENERALIZED_TIME, text.as_bytes());
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("000229120000Z"), Some(951_825_600));
        assert_eq!(utc("261130060102Z"), Some(1_796_018_462));
        assert_eq!(general("20500101000000Z"), Some(2_524_608_000));
        assert_eq!(general("99991231235959Z"), Some(253_402_300_799));
        for wrong in ["", "7001010000Z", "700101000000", "701301000000Z", "70010100000xZ"] {
            assert_eq!(utc(wrong), None, "{wrong}");
        }
        assert_eq!(utc("691231235959Z"), None);
        assert_eq!(general("00000101000000Z"), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for bytes in [&b""[..], b"\x30", b"\x30\x80", b"\x30\x03\x30\x01\x02", &[0x30; 64]] {
            assert_eq!(not_after(bytes), None);
        }
    }
}
