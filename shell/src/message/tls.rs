//! What the codes of a failed TLS handshake stand for, and their words.
//!
//! A cause holds a number: an errno, or one of these. Numbers are in journals, so lists are only
//! ever appended to.

/// Added to the number of an alert (RFC 8446, 6) that the other side sent.
pub const ALERT: u16 = 0x1000;
/// Added to the days a certificate is still valid, where that is less than was asked for.
pub const DAYS: u16 = 0x4000;
/// The most days that are told apart.
pub const MOST_DAYS: u16 = 0x3FFF;

/// What came is no TLS.
pub const NOT_TLS: u16 = 0x2001;
/// The handshake broke rules.
pub const BROKEN: u16 = 0x2002;
/// No version, cipher or the like in common.
pub const NOTHING_IN_COMMON: u16 = 0x2003;
/// The certificate has expired.
pub const EXPIRED: u16 = 0x2004;
/// The certificate is not valid yet.
pub const NOT_YET: u16 = 0x2005;
/// The certificate is another's.
pub const OTHER_NAME: u16 = 0x2006;
/// Nobody we trust has signed the certificate.
pub const UNKNOWN_ISSUER: u16 = 0x2007;
/// The certificate was revoked.
pub const REVOKED: u16 = 0x2008;
/// The certificate is bad in another way.
pub const BAD_CERTIFICATE: u16 = 0x2009;
/// The server does not want to begin TLS.
pub const REFUSED: u16 = 0x200A;
/// We have no certificates of authorities to trust.
pub const NO_ROOTS: u16 = 0x200B;
/// What we are to ask for is the name of nothing.
pub const NO_NAME: u16 = 0x200C;
/// The file of those whom we are to trust does not answer.
pub const SILENT_FILE: u16 = 0x200D;

const FAULTS: [(u16, &str); 13] = [
    (NOT_TLS, "not TLS"),
    (BROKEN, "broken TLS"),
    (NOTHING_IN_COMMON, "no TLS version or cipher in common"),
    (EXPIRED, "certificate expired"),
    (NOT_YET, "certificate not valid yet"),
    (OTHER_NAME, "certificate of another name"),
    (UNKNOWN_ISSUER, "certificate of an unknown issuer"),
    (REVOKED, "certificate revoked"),
    (BAD_CERTIFICATE, "bad certificate"),
    (REFUSED, "TLS refused"),
    (NO_ROOTS, "no certificates of authorities to trust"),
    (NO_NAME, "no name to ask for"),
    (SILENT_FILE, "the file of its `ca` does not answer"),
];

const ALERTS: [(u16, &str); 31] = [
    (0, "close notify"),
    (10, "unexpected message"),
    (20, "bad record MAC"),
    (22, "record overflow"),
    (40, "handshake failure"),
    (41, "no certificate"),
    (42, "bad certificate"),
    (43, "unsupported certificate"),
    (44, "certificate revoked"),
    (45, "certificate expired"),
    (46, "certificate unknown"),
    (47, "illegal parameter"),
    (48, "unknown CA"),
    (49, "access denied"),
    (50, "decode error"),
    (51, "decrypt error"),
    (70, "protocol version"),
    (71, "insufficient security"),
    (80, "internal error"),
    (86, "inappropriate fallback"),
    (90, "user canceled"),
    (100, "no renegotiation"),
    (109, "missing extension"),
    (110, "unsupported extension"),
    (111, "certificate unobtainable"),
    (112, "unrecognized name"),
    (113, "bad certificate status"),
    (114, "bad certificate hash"),
    (115, "unknown PSK identity"),
    (116, "certificate required"),
    (120, "no application protocol"),
];

/// The words of `code`; `None` for an errno.
#[must_use]
pub fn words(code: u16) -> Option<String> {
    match code {
        DAYS.. => Some(format!("certificate valid for {} more", days(code - DAYS))),
        ALERT..NOT_TLS if code - ALERT <= 255 => {
            let alert = code - ALERT;
            let known = ALERTS.iter().find(|(number, _)| *number == alert);
            Some(match known {
                Some((_, words)) => format!("TLS alert {alert} {words}"),
                None => format!("TLS alert {alert}"),
            })
        }
        ALERT.. => {
            let known = FAULTS.iter().find(|(number, _)| *number == code);
            Some(known.map_or("TLS failed", |(_, words)| *words).to_owned())
        }
        _ => None,
    }
}

/// `1 day`, `61 days`.
#[must_use]
pub fn days(days: u16) -> String {
    if days == 1 { String::from("1 day") } else { format!("{days} days") }
}

/// The code of a certificate that is valid for so many more days.
#[must_use]
pub fn valid_for(days: u64) -> u16 {
    DAYS + u16::try_from(days).unwrap_or(MOST_DAYS).min(MOST_DAYS)
}

/// Whether `code` says that a certificate is valid, but not for as long as was asked for.
#[must_use]
pub const fn is_soon(code: u16) -> bool {
    code >= DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_words() {
        let is = |code, said: &str| assert_eq!(words(code).as_deref(), Some(said));
        is(ALERT + 40, "TLS alert 40 handshake failure");
        is(ALERT + 255, "TLS alert 255");
        is(ALERT + 256, "TLS failed");
        is(NOT_TLS, "not TLS");
        is(valid_for(1), "certificate valid for 1 day more");
        is(valid_for(u64::MAX), "certificate valid for 16383 days more");
        assert_eq!(words(110), None);
        // Causes are in journals: an old one must go on to mean what it meant.
        assert_eq!((NOT_TLS, EXPIRED, UNKNOWN_ISSUER, NO_NAME), (8193, 8196, 8199, 8204));
    }
}
