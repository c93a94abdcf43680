//! Lengths of time in words, one way for each purpose.

/// For log lines: `600 s`, `1.3 s`, `40 ms`.
#[must_use]
pub fn seconds(ms: u64) -> String {
    match ms {
        0..100 => format!("{ms} ms"),
        100..60_000 if ms % 1000 != 0 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} s", ms / 1000),
    }
}

/// For how long something took or lasted: `14s`, `4m 10s`, `3h 5m`, `12d 4h`. Two units at most.
#[must_use]
pub fn compact(ms: u64) -> String {
    let s = ms / 1000;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => two(s / 60, 'm', s % 60, 's'),
        3600..86_400 => two(s / 3600, 'h', s % 3600 / 60, 'm'),
        _ => two(s / 86_400, 'd', s % 86_400 / 3600, 'h'),
    }
}

/// For a sentence: `14 s`, `3 min`, `1 min 12 s`, `3 h 5 min`, `12 d 4 h`. Two units at most.
#[must_use]
pub fn spoken(ms: u64) -> String {
    let s = ms / 1000;
    let (large, small) = match s {
        0..60 => return format!("{s} s"),
        60..3600 => ((s / 60, "min"), (s % 60, "s")),
        3600..86_400 => ((s / 3600, "h"), (s % 3600 / 60, "min")),
        _ => ((s / 86_400, "d"), (s % 86_400 / 3600, "h")),
    };
    match small {
        (0, _) => format!("{} {}", large.0, large.1),
        (count, unit) => format!("{} {} {count} {unit}", large.0, large.1),
    }
}

fn two(large: u64, large_unit: char, small: u64, small_unit: char) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit} {small}{small_unit}")
    }
}

/// For narrow columns: `40s`, `4m`, `2h`, `12d`. What is left over is dropped.
#[must_use]
pub fn coarse(ms: u64) -> String {
    let s = ms / 1000;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m", s / 60),
        3600..86_400 => format!("{}h", s / 3600),
        _ => format!("{}d", s / 86_400),
    }
}

/// For a window as it was configured, where room is scarce: `10m`, `1h`, `1h 30m`, `250ms`.
#[must_use]
pub fn window(ms: u64) -> String {
    if ms > 0 && ms % 1000 == 0 { exact(ms / 1000) } else { format!("{ms}ms") }
}

/// For a window in a sentence that is about seconds: `600s`, but `1h` and `7d`.
#[must_use]
pub fn window_in_seconds(ms: u64) -> String {
    if ms % 1000 == 0 && ms < 1_000_000 { format!("{}s", ms / 1000) } else { window(ms) }
}

/// For a delay or a duration below a minute: `5s`, `1.3s`, `40ms`.
#[must_use]
pub fn short(ms: u64) -> String {
    match ms {
        0 => String::from("0s"),
        1..100 => format!("{ms}ms"),
        100..60_000 if ms % 1000 != 0 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => compact(ms),
    }
}

/// Every unit that is not zero, so that nothing of a configured value is lost.
fn exact(s: u64) -> String {
    let parts = [(s / 86_400, 'd'), (s / 3600 % 24, 'h'), (s / 60 % 60, 'm'), (s % 60, 's')];
    let words: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if words.is_empty() { String::from("0s") } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_purpose_has_its_form() {
        assert_eq!(seconds(600_000), "600 s");
        assert_eq!(seconds(1_340), "1.3 s");
        assert_eq!(seconds(40), "40 ms");
        assert_eq!(compact(250_000), "4m 10s");
        assert_eq!(compact(14_999), "14s");
        assert_eq!(compact(3_600_000), "1h");
        assert_eq!(compact(86_400_000 * 12), "12d");
        assert_eq!(spoken(14_999), "14 s");
        assert_eq!(spoken(180_000), "3 min");
        assert_eq!(spoken(72_000), "1 min 12 s");
        assert_eq!(spoken(3_600_000 * 3 + 300_000), "3 h 5 min");
        assert_eq!(spoken(86_400_000 * 12), "12 d");
        assert_eq!(coarse(250_000), "4m");
        assert_eq!(coarse(86_400_000 * 12 + 1), "12d");
        assert_eq!(window(600_000), "10m");
        assert_eq!(window(3_600_000), "1h");
        assert_eq!(window(5_400_000), "1h 30m");
        assert_eq!(window(250), "250ms");
        assert_eq!(window(1_500), "1500ms");
        assert_eq!(window_in_seconds(600_000), "600s");
        assert_eq!(window_in_seconds(3_600_000), "1h");
        assert_eq!(short(5_000), "5s");
        assert_eq!(short(1_300), "1.3s");
    }

    #[test]
    fn no_length_of_time_is_too_long() {
        for ms in [0, 1, u64::from(u32::MAX), u64::MAX] {
            for words in [
                seconds(ms),
                compact(ms),
                coarse(ms),
                window(ms),
                window_in_seconds(ms),
                short(ms),
                spoken(ms),
            ] {
                assert!(!words.is_empty());
            }
        }
    }
}
