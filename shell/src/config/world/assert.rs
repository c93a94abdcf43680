//! What must hold of a whole world: sentences like `restarts <= 3 per 300s`.

use crate::config::quantity;

/// One claim about the whole, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assert {
    /// About whom.
    pub of: Of,
    /// What.
    pub claim: Claim,
    /// As it is written.
    pub text: String,
    /// The line it is on.
    pub line: usize,
    /// And the column.
    pub column: usize,
}

/// Whom a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Each service.
    Every,
    /// The service of this place.
    Service(usize),
    /// The host.
    Host,
}

/// A claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A figure keeps to a bound; of counts also in every window of so many milliseconds.
    Bound {
        /// Which figure.
        measure: Measure,
        /// How it compares.
        relation: Relation,
        /// With what: a count, or milliseconds.
        value: u64,
        /// In every window of this length; the whole if `None`.
        per_ms: Option<u64>,
    },
    /// It never has this status.
    Never(&'static str),
    /// It has this status in the end.
    Ends(&'static str),
}

/// How a figure compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Relation {
    const ALL: [(&str, Self); 6] = [
        ("<", Self::Below),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("=", Self::Equal),
        (">=", Self::AtLeast),
        (">", Self::Above),
    ];

    /// Whether `figure` stands so to `value`.
    #[must_use]
    pub const fn holds(self, figure: u64, value: u64) -> bool {
        match self {
            Self::Below => figure < value,
            Self::AtMost => figure <= value,
            Self::Equal => figure == value,
            Self::AtLeast => figure >= value,
            Self::Above => figure > value,
        }
    }
}

/// A figure of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Restarts that the monitor began.
    Restarts,
    /// Of these, those of a service that worked.
    Needless,
    /// Giveovers that were granted.
    Giveovers,
    /// Giveovers that were denied.
    Denials,
    /// Ends of its process.
    Deaths,
    /// Time in which it did not work.
    Outage,
    /// The longest such time at a stretch.
    LongestOutage,
    /// The longest time from a fault to what was decided about it.
    Detection,
    /// Of the host: pulses of the reset line.
    Resets,
    /// Of the host: times that it booted.
    Boots,
}

impl Measure {
    /// Each with its word, whether it is a time, and whether it is the host's.
    pub const ALL: [(&str, Self, bool, bool); 10] = [
        ("restarts", Self::Restarts, false, false),
        ("needless", Self::Needless, false, false),
        ("giveovers", Self::Giveovers, false, false),
        ("denials", Self::Denials, false, false),
        ("deaths", Self::Deaths, false, false),
        ("outage", Self::Outage, true, false),
        ("longest_outage", Self::LongestOutage, true, false),
        ("detection", Self::Detection, true, false),
        ("resets", Self::Resets, false, true),
        ("boots", Self::Boots, false, true),
    ];

    /// Whether it can be counted in windows.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        matches!(
            self,
            Self::Restarts | Self::Giveovers | Self::Deaths | Self::Resets | Self::Needless
        )
    }
}

const STATUSES: [&str; 5] = ["unknown", "ok", "degraded", "faulted", "offline"];

/// Reads a claim about the host, or about a service.
///
/// # Errors
/// What is wrong with it, and what can be written.
pub(super) fn claim(text: &str, host: bool) -> Result<Claim, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let status = |word: &str| {
        let found = STATUSES.into_iter().find(|known| *known == word);
        found.ok_or_else(|| format!("`{word}` is no status: {}", STATUSES.join(", ")))
    };
    match words.as_slice() {
        ["never", "two", "active"] => Err("nodes are not in this version".to_owned()),
        ["never", word] if !host => Ok(Claim::Never(status(word)?)),
        ["ends", word] if !host => Ok(Claim::Ends(status(word)?)),
        [figure, relation, value, rest @ ..] => bound(figure, relation, value, rest, host),
        _ => Err(
            "a claim is a figure, <, <=, ==, >= or >, and a value: \"restarts <= 3 per 300s\", \
                  \"outage < 30s\"; or \"never faulted\", \"ends ok\""
                .to_owned(),
        ),
    }
}

fn bound(
    figure: &str,
    relation: &str,
    value: &str,
    rest: &[&str],
    host: bool,
) -> Result<Claim, String> {
    let known = Measure::ALL.iter().find(|(word, ..)| *word == figure);
    let Some((_, measure, is_time, of_host)) = known else {
        let ours = Measure::ALL.iter().filter(|(.., of_host)| *of_host == host);
        let names: Vec<&str> = ours.map(|(word, ..)| *word).collect();
        return Err(format!("`{figure}` is no figure here: {}", names.join(", ")));
    };
    if *of_host != host {
        let whose = if *of_host { "the host's: assert it under `host`" } else { "a service's" };
        return Err(format!("`{figure}` is {whose}"));
    }
    let sign = Relation::ALL.iter().find(|(sign, _)| *sign == relation);
    let Some((_, relation)) = sign else {
        return Err(format!("`{relation}` compares nothing: <, <=, ==, >= or >"));
    };
    let time = |text: &str| {
        quantity::milliseconds(text)
            .map_err(|_| format!("`{text}` is no duration: \"30s\", \"5m\""))
    };
    let value = match is_time {
        true => time(value)?,
        false => value.parse().map_err(|_| format!("`{value}` is no whole number"))?,
    };
    let per_ms = match rest {
        [] => None,
        ["per", window] if measure.is_counted() => Some(time(window)?),
        ["per", _] => return Err(format!("`{figure}` is of the whole, it has no `per`")),
        [word, ..] => return Err(format!("`{word}` is one word too many; `per 300s` may follow")),
    };
    Ok(Claim::Bound { measure: *measure, relation: *relation, value, per_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read() {
        let bound = |measure, relation, value, per_ms| {
            Ok(Claim::Bound { measure, relation, value, per_ms })
        };
        let restarts = bound(Measure::Restarts, Relation::AtMost, 3, Some(300_000));
        assert_eq!(claim("restarts <= 3 per 300s", false), restarts);
        let outage = bound(Measure::Outage, Relation::Below, 30_000, None);
        assert_eq!(claim("outage < 30s", false), outage);
        let resets = bound(Measure::Resets, Relation::Equal, 0, None);
        assert_eq!(claim("resets == 0", true), resets);
        assert_eq!(claim("never faulted", false), Ok(Claim::Never("faulted")));
        assert_eq!(claim("ends ok", false), Ok(Claim::Ends("ok")));
    }

    #[test]
    fn what_is_no_claim_says_what_is() {
        for (text, host, why) in [
            ("restrats <= 3", false, "`restrats` is no figure here: restarts, needless"),
            ("restarts <= three", false, "`three` is no whole number"),
            ("restarts ~ 3", false, "`~` compares nothing"),
            ("outage < 30", false, "`30` is no duration"),
            ("outage < 30s per 1h", false, "`outage` is of the whole"),
            ("restarts <= 3 in 300s", false, "`in` is one word too many"),
            ("resets <= 3", false, "`resets` is the host's"),
            ("restarts <= 3", true, "`restarts` is a service's"),
            ("never two active", false, "nodes are not in this version"),
            ("never broken", false, "`broken` is no status"),
            ("restarts", false, "a claim is a figure"),
            ("", false, "a claim is a figure"),
        ] {
            let said = claim(text, host).expect_err(text);
            assert!(said.starts_with(why), "{text}: {said}");
        }
    }

    #[test]
    fn relations_compare() {
        for (relation, below, equal, above) in [
            (Relation::Below, true, false, false),
            (Relation::AtMost, true, true, false),
            (Relation::Equal, false, true, false),
            (Relation::AtLeast, false, true, true),
            (Relation::Above, false, false, true),
        ] {
            let found = [1, 2, 3].map(|figure| relation.holds(figure, 2));
            assert_eq!(found, [below, equal, above], "{relation:?}");
        }
    }
}
