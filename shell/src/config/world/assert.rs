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
    /// The nodes together.
    Group,
    /// The pool of this place.
    Pool(usize),
}

impl Of {
    /// Whose figures it has.
    #[must_use]
    pub const fn whose(self) -> Whose {
        match self {
            Self::Every | Self::Service(_) => Whose::Service,
            Self::Host => Whose::Host,
            Self::Group => Whose::Group,
            Self::Pool(_) => Whose::Pool,
        }
    }
}

/// Whose figure something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Each service's.
    Service,
    /// The host's.
    Host,
    /// The nodes' together.
    Group,
    /// A pool's.
    Pool,
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
    /// At no time do two nodes hold the address.
    NeverTwoActive,
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
    /// Of the nodes: times that another one became the holder.
    Takeovers,
    /// Of the nodes: time in which nobody held the address, once somebody had.
    Unheld,
    /// Of the nodes: the longest such time at a stretch.
    LongestUnheld,
    /// Of a pool: members that were excluded.
    Exclusions,
    /// Of a pool: time in which nobody took work.
    Unserved,
    /// Of a pool: the longest such time at a stretch.
    LongestUnserved,
    /// Of a pool: time in which work went to members that did none, of all of them together.
    Misled,
}

impl Measure {
    /// Each with its word, whether it is a time, and whose it is.
    pub const ALL: [(&str, Self, bool, Whose); 17] = [
        ("restarts", Self::Restarts, false, Whose::Service),
        ("needless", Self::Needless, false, Whose::Service),
        ("giveovers", Self::Giveovers, false, Whose::Service),
        ("denials", Self::Denials, false, Whose::Service),
        ("deaths", Self::Deaths, false, Whose::Service),
        ("outage", Self::Outage, true, Whose::Service),
        ("longest_outage", Self::LongestOutage, true, Whose::Service),
        ("detection", Self::Detection, true, Whose::Service),
        ("resets", Self::Resets, false, Whose::Host),
        ("boots", Self::Boots, false, Whose::Host),
        ("takeovers", Self::Takeovers, false, Whose::Group),
        ("unheld", Self::Unheld, true, Whose::Group),
        ("longest_unheld", Self::LongestUnheld, true, Whose::Group),
        ("exclusions", Self::Exclusions, false, Whose::Pool),
        ("unserved", Self::Unserved, true, Whose::Pool),
        ("longest_unserved", Self::LongestUnserved, true, Whose::Pool),
        ("misled", Self::Misled, true, Whose::Pool),
    ];

    /// Whether it can be counted in windows.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        matches!(
            self,
            Self::Restarts
                | Self::Giveovers
                | Self::Deaths
                | Self::Resets
                | Self::Needless
                | Self::Takeovers
                | Self::Exclusions
        )
    }
}

const STATUSES: [&str; 5] = ["unknown", "ok", "degraded", "faulted", "offline"];

/// Reads a claim about a service, the host, or the nodes.
///
/// # Errors
/// What is wrong with it, and what can be written.
pub(super) fn claim(text: &str, whose: Whose) -> Result<Claim, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let status = |word: &str| {
        let found = STATUSES.into_iter().find(|known| *known == word);
        found.ok_or_else(|| format!("`{word}` is no status: {}", STATUSES.join(", ")))
    };
    match words.as_slice() {
        ["never", "two", "active"] if whose == Whose::Group => Ok(Claim::NeverTwoActive),
        ["never", "two", "active"] => Err("that is the nodes': assert it under `group`".to_owned()),
        ["never", word] if whose == Whose::Service => Ok(Claim::Never(status(word)?)),
        ["ends", word] if whose == Whose::Service => Ok(Claim::Ends(status(word)?)),
        [figure, relation, value, rest @ ..] => bound(figure, relation, value, rest, whose),
        _ => Err(
            "a claim is a figure, <, <=, ==, >= or >, and a value: \"restarts <= 3 per 300s\", \
                  \"outage < 30s\"; or \"never faulted\", \"ends ok\", of nodes \"never two active\""
                .to_owned(),
        ),
    }
}

fn bound(
    figure: &str,
    relation: &str,
    value: &str,
    rest: &[&str],
    whose: Whose,
) -> Result<Claim, String> {
    let known = Measure::ALL.iter().find(|(word, ..)| *word == figure);
    let Some((_, measure, is_time, owner)) = known else {
        let ours = Measure::ALL.iter().filter(|(.., owner)| *owner == whose);
        let names: Vec<&str> = ours.map(|(word, ..)| *word).collect();
        return Err(format!("`{figure}` is no figure here: {}", names.join(", ")));
    };
    if *owner != whose {
        let owner = match owner {
            Whose::Service => "a service's",
            Whose::Host => "the host's: assert it under `host`",
            Whose::Group => "the nodes': assert it under `group`",
            Whose::Pool => "a pool's: assert it under its name",
        };
        return Err(format!("`{figure}` is {owner}"));
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
        assert_eq!(claim("restarts <= 3 per 300s", Whose::Service), restarts);
        let outage = bound(Measure::Outage, Relation::Below, 30_000, None);
        assert_eq!(claim("outage < 30s", Whose::Service), outage);
        let resets = bound(Measure::Resets, Relation::Equal, 0, None);
        assert_eq!(claim("resets == 0", Whose::Host), resets);
        assert_eq!(claim("never faulted", Whose::Service), Ok(Claim::Never("faulted")));
        assert_eq!(claim("ends ok", Whose::Service), Ok(Claim::Ends("ok")));
        assert_eq!(claim("never two active", Whose::Group), Ok(Claim::NeverTwoActive));
        let unheld = bound(Measure::LongestUnheld, Relation::Below, 20_000, None);
        assert_eq!(claim("longest_unheld < 20s", Whose::Group), unheld);
    }

    #[test]
    fn what_is_no_claim_says_what_is() {
        for (text, whose, why) in [
            ("restrats <= 3", Whose::Service, "`restrats` is no figure here: restarts, needless"),
            ("restarts <= three", Whose::Service, "`three` is no whole number"),
            ("restarts ~ 3", Whose::Service, "`~` compares nothing"),
            ("outage < 30", Whose::Service, "`30` is no duration"),
            ("outage < 30s per 1h", Whose::Service, "`outage` is of the whole"),
            ("restarts <= 3 in 300s", Whose::Service, "`in` is one word too many"),
            ("resets <= 3", Whose::Service, "`resets` is the host's"),
            ("restarts <= 3", Whose::Host, "`restarts` is a service's"),
            ("never two active", Whose::Service, "that is the nodes': assert it under `group`"),
            ("takeovers <= 3", Whose::Host, "`takeovers` is the nodes'"),
            ("never faulted", Whose::Group, "a claim is a figure"),
            ("never broken", Whose::Service, "`broken` is no status"),
            ("restarts", Whose::Service, "a claim is a figure"),
            ("", Whose::Service, "a claim is a figure"),
        ] {
            let said = claim(text, whose).expect_err(text);
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
