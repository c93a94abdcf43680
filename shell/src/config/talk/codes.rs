//! What the codes of answers stand for, in protocols that answer with words, and the names of
//! those that answer with numbers.
//!
//! A cause holds a number. Where a protocol has none, a word's is its place in a list here,
//! counted from one: only ever append.

/// How POP3 refuses.
pub const POP3: [&str; 1] = ["-ERR"];

/// Status words of an IMAP greeting.
pub const IMAP: [&str; 5] = ["OK", "PREAUTH", "BYE", "NO", "BAD"];

/// First words of Redis's answers.
pub const REDIS: [&str; 13] = [
    "PONG",
    "NOAUTH",
    "LOADING",
    "MASTERDOWN",
    "BUSY",
    "MISCONF",
    "DENIED",
    "NOPERM",
    "WRONGPASS",
    "OOM",
    "READONLY",
    "CLUSTERDOWN",
    "ERR",
];

/// States of PostgreSQL (SQLSTATE), and what each means.
pub const POSTGRES: [(&str, &str); 19] = [
    ("57P03", "57P03 cannot connect now"),
    ("57P01", "57P01 admin shutdown"),
    ("57P02", "57P02 crash shutdown"),
    ("53300", "53300 too many connections"),
    ("28000", "28000 invalid authorization"),
    ("28P01", "28P01 invalid password"),
    ("3D000", "3D000 no such database"),
    ("42501", "42501 insufficient privilege"),
    ("53100", "53100 disk full"),
    ("53200", "53200 out of memory"),
    ("53000", "53000 insufficient resources"),
    ("57014", "57014 query canceled"),
    ("25006", "25006 read-only transaction"),
    ("42P01", "42P01 undefined table"),
    ("42601", "42601 syntax error"),
    ("08P01", "08P01 protocol violation"),
    ("58000", "58000 system error"),
    ("58030", "58030 I/O error"),
    ("XX000", "XX000 internal error"),
];

/// The code of a state that is not listed.
pub const OTHER_STATE: u16 = 1000;

/// Return codes of MQTT 3.1.1.
pub const MQTT: [(u16, &str); 5] = [
    (1, "1 unacceptable protocol version"),
    (2, "2 identifier rejected"),
    (3, "3 server unavailable"),
    (4, "4 bad user name or password"),
    (5, "5 not authorized"),
];

/// Result codes of LDAP (RFC 4511, 4.1.9) that servers give to a bind or a search.
pub const LDAP: [(u16, &str); 16] = [
    (1, "1 operationsError"),
    (2, "2 protocolError"),
    (3, "3 timeLimitExceeded"),
    (4, "4 sizeLimitExceeded"),
    (7, "7 authMethodNotSupported"),
    (8, "8 strongerAuthRequired"),
    (10, "10 referral"),
    (13, "13 confidentialityRequired"),
    (32, "32 noSuchObject"),
    (34, "34 invalidDNSyntax"),
    (48, "48 inappropriateAuthentication"),
    (49, "49 invalidCredentials"),
    (50, "50 insufficientAccessRights"),
    (51, "51 busy"),
    (52, "52 unavailable"),
    (53, "53 unwillingToPerform"),
];

/// Answers to calls of ONC RPC: what became of an accepted one; from 16 on why it was refused.
pub const RPC: [(u16, &str); 8] = [
    (0, "SUCCESS"),
    (1, "PROG_UNAVAIL"),
    (2, "PROG_MISMATCH"),
    (3, "PROC_UNAVAIL"),
    (4, "GARBAGE_ARGS"),
    (5, "SYSTEM_ERR"),
    (16, "RPC_MISMATCH"),
    (17, "AUTH_ERROR"),
];

/// What became of the question for the port of a program, beside the numbers of errors: they are
/// the codes of phase `resolve`, and of `connect` the last.
pub const RPC_LOOKUP: [(u16, &str); 5] = [
    (LOOKUP_SILENT, "rpcbind does not answer"),
    (LOOKUP_REFUSED, "rpcbind is not there"),
    (LOOKUP_DENIED, "rpcbind does not say its port"),
    (LOOKUP_STRANGE, "rpcbind answers nonsense"),
    (NOT_REGISTERED, "not registered with rpcbind"),
];

/// rpcbind was asked in vain.
pub const LOOKUP_SILENT: u16 = 1000;
/// rpcbind cannot be reached.
pub const LOOKUP_REFUSED: u16 = 1001;
/// rpcbind answered that it will not, or cannot.
pub const LOOKUP_DENIED: u16 = 1002;
/// What came was no answer.
pub const LOOKUP_STRANGE: u16 = 1003;
/// rpcbind knows no port of the program.
pub const NOT_REGISTERED: u16 = 1004;

/// Programs of ONC RPC that have names, and the version that is called.
pub const PROGRAMS: [(u32, u32, &str); 5] = [
    (100_000, 2, "rpcbind"),
    (100_003, 3, "nfsd"),
    (100_005, 3, "mountd"),
    (100_021, 4, "lockd"),
    (100_024, 1, "statd"),
];

/// Response codes of DNS (RFC 1035, 4.1.1, and RFC 2136), and what each means.
pub const DNS: [(u16, &str); 11] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
];

/// Types of records that can be asked for.
pub const DNS_TYPES: [(u16, &str); 10] = [
    (1, "A"),
    (2, "NS"),
    (5, "CNAME"),
    (6, "SOA"),
    (12, "PTR"),
    (15, "MX"),
    (16, "TXT"),
    (28, "AAAA"),
    (33, "SRV"),
    (48, "DNSKEY"),
];

/// The code of `word` in one of the lists above; zero if it is not there.
#[must_use]
pub fn code_of(list: &[&str], word: &[u8]) -> u16 {
    let place = list.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(word));
    place.map_or(0, |place| place as u16 + 1)
}

/// The word of `code`; empty if it has none.
#[must_use]
pub fn named(list: &[&'static str], code: u16) -> &'static str {
    let place = usize::from(code).checked_sub(1);
    place.and_then(|place| list.get(place)).copied().unwrap_or_default()
}

/// The words of the number `code`; empty if it has none.
#[must_use]
pub fn numbered(list: &[(u16, &'static str)], code: u16) -> &'static str {
    list.iter().find(|(number, _)| *number == code).map_or("", |(_, words)| words)
}

/// The code of an SQLSTATE.
#[must_use]
pub fn code_of_state(state: &[u8]) -> u16 {
    let place = POSTGRES.iter().position(|(known, _)| known.as_bytes() == state);
    place.map_or(OTHER_STATE, |place| place as u16 + 1)
}

/// The words of an SQLSTATE's code.
#[must_use]
pub fn state_words(code: u16) -> &'static str {
    if code == OTHER_STATE {
        return "an error";
    }
    let place = usize::from(code).checked_sub(1);
    place.and_then(|place| POSTGRES.get(place)).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_are_each_others() {
        for list in [&POP3[..], &IMAP[..], &REDIS[..]] {
            for word in list {
                assert_eq!(named(list, code_of(list, word.as_bytes())), *word);
            }
            assert_eq!((code_of(list, b"?"), named(list, 0), named(list, 999)), (0, "", ""));
        }
        for (state, words) in POSTGRES {
            assert_eq!(state_words(code_of_state(state.as_bytes())), words);
            assert!(words.starts_with(state) && state.len() == 5);
        }
        assert_eq!(state_words(code_of_state(b"00000")), "an error");
        for (number, words) in MQTT.iter().chain(&LDAP) {
            assert!(words.starts_with(&format!("{number} ")), "{words}");
        }
        assert_eq!((numbered(&LDAP, 49), numbered(&LDAP, 9)), ("49 invalidCredentials", ""));
    }

    /// Causes are in journals: an old one must go on to mean what it meant.
    #[test]
    fn places_in_the_lists_are_kept() {
        assert_eq!(code_of(&REDIS, b"NOAUTH"), 2);
        assert_eq!(code_of(&REDIS, b"LOADING"), 3);
        assert_eq!(code_of(&IMAP, b"bye"), 3);
        assert_eq!(code_of_state(b"57P03"), 1);
        assert_eq!(code_of_state(b"XX000"), 19);
    }
}
