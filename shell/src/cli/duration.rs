//! Lengths of time on the command line, written as in the configuration.

/// Units, longest first, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads `250ms`, `30s`, `1h30m`, `7d` into milliseconds; for clap.
///
/// # Errors
/// What is wrong, with the likely spelling.
pub fn parse(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(String::from("a duration is a number and a unit: \"30s\", \"1h30m\", \"7d\""));
    }
    let (mut rest, mut after, mut total) = (text, 0, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, next) = behind.split_at(letters);
        if unit.is_empty() {
            return Err(format!("a duration needs a unit: \"{text}s\""));
        }
        let known = UNITS.iter().position(|(name, _)| *name == unit);
        let (place, each) = known
            .and_then(|place| Some((place, UNITS.get(place)?.1)))
            .ok_or_else(|| format!("no unit `{unit}`: d, h, m, s or ms"))?;
        if place < after {
            return Err(String::from("units go from the longest to the shortest, each once"));
        }
        let part = number.parse::<u64>().ok().and_then(|count| count.checked_mul(each));
        total = part.and_then(|part| total.checked_add(part)).ok_or("too long")?;
        (rest, after) = (next, place + 1);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_the_configuration() {
        assert_eq!(parse("250ms"), Ok(250));
        assert_eq!(parse("1h30m"), Ok(5_400_000));
        assert_eq!(parse("7d"), Ok(604_800_000));
        assert_eq!(parse("0s"), Ok(0));
        assert_eq!(parse("300"), Err(String::from("a duration needs a unit: \"300s\"")));
        for wrong in ["", "s", "-1s", "1x", "30m1h", "1s1s", "99999999999999999999s", "1.5s", "1 s"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
