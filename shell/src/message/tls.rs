//! What the code of a failed TLS handshake means.
//!
//! Below [`ALERT`] it is an errno, as in every phase of a connection. Causes are in journals: a
//! code must go on to mean what it meant.

/// The code where the other side speaks no TLS.
pub const NONE: u16 = 0;
/// Added to the number of the server's alert.
const ALERT: u16 = 0x1000;
/// STARTTLS was answered with no.
pub const NO_STARTTLS: u16 = 0x1200;
/// The two have no version, suite or group in common.
pub const NOTHING_IN_COMMON: u16 = 0x1201;
/// What the server said is TLS and wrong.
pub const BROKEN: u16 = 0x1202;
/// The certificate is out of date.
pub const EXPIRED: u16 = 0x1300;
/// The certificate is not valid yet.
pub const NOT_YET_VALID: u16 = 0x1301;
/// Nobody we trust has signed it.
pub const UNKNOWN_ISSUER: u16 = 0x1302;
/// It is another's.
pub const WRONG_NAME: u16 = 0x1303;
/// It cannot be used for something else.
pub const BAD_CERTIFICATE: u16 = 0x1304;
/// Our list of authorities holds none that can be used.
pub const NO_ROOTS: u16 = 0x1305;
/// Added to the days a certificate is still valid, at most [`MOST_DAYS`].
const DAYS: u16 = 0x2000;
/// More days than this are not told apart.
pub const MOST_DAYS: u16 = 0x0FFF;

/// The code of the server's alert `description`.
#[must_use]
pub const fn alert(description: u8) -> u16 {
    ALERT + description as u16
}

/// The code of a certificate that is valid for so many days more, and for too few.
#[must_use]
pub const fn expires(days: u16) -> u16 {
    DAYS + if days > MOST_DAYS { MOST_DAYS } else { days }
}

/// Whether `code` says that a certificate ends soon.
#[must_use]
pub const fn is_expiry(code: u16) -> bool {
    code >= DAYS && code <= DAYS + MOST_DAYS
}

/// What `code` means; `None` if it is an errno.
#[must_use]
pub fn words(code: u16) -> Option<String> {
    let fixed = match code {
        NONE => "no TLS",
        NO_STARTTLS => "STARTTLS refused",
        NOTHING_IN_COMMON => "no TLS version or cipher in common",
        BROKEN => "broken TLS",
        EXPIRED => "certificate expired",
        NOT_YET_VALID => "certificate not valid yet",
        UNKNOWN_ISSUER => "certificate signed by nobody we trust",
        WRONG_NAME => "certificate for another name",
        BAD_CERTIFICATE => "bad certificate",
        NO_ROOTS => "no certificate authority to trust",
        _ if is_expiry(code) => return Some(left(code - DAYS)),
        _ if code >> 8 == ALERT >> 8 => return Some(alert_words(code as u8)),
        _ => return None,
    };
    Some(fixed.to_owned())
}

fn left(days: u16) -> String {
    match days {
        0 => String::from("certificate expires within a day"),
        1 => String::from("certificate expires in 1 day"),
        days => format!("certificate expires in {days} days"),
    }
}

fn alert_words(description: u8) -> String {
    match ALERTS.iter().find(|(number, _)| *number == description) {
        Some((_, name)) => format!("alert {description} {name}"),
        None => format!("alert {description}"),
    }
}

/// Alerts of RFC 8446, 6, and what is left of older ones.
const ALERTS: [(u8, &str); 24] = [
    (0, "close_notify"),
    (10, "unexpected_message"),
    (20, "bad_record_mac"),
    (22, "record_overflow"),
    (40, "handshake_failure"),
    (42, "bad_certificate"),
    (43, "unsupported_certificate"),
    (44, "certificate_revoked"),
    (45, "certificate_expired"),
    (46, "certificate_unknown"),
    (47, "illegal_parameter"),
    (48, "unknown_ca"),
    (49, "access_denied"),
    (50, "decode_error"),
    (51, "decrypt_error"),
    (70, "protocol_version"),
    (71, "insufficient_security"),
    (80, "internal_error"),
    (86, "inappropriate_fallback"),
    (90, "user_canceled"),
    (109, "missing_extension"),
    (112, "unrecognized_name"),
    (116, "certificate_required"),
    (120, "no_application_protocol"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_words_and_errnos_have_theirs_elsewhere() {
        let said = |code| words(code).unwrap_or_default();
        assert_eq!(said(alert(40)), "alert 40 handshake_failure");
        assert_eq!(said(alert(255)), "alert 255");
        assert_eq!(said(expires(0)), "certificate expires within a day");
        assert_eq!(said(expires(13)), "certificate expires in 13 days");
        assert_eq!(expires(u16::MAX), expires(MOST_DAYS));
        assert_eq!(said(NONE), "no TLS");
        assert!((1..0x1000).all(|errno| words(errno).is_none()));
    }
}
