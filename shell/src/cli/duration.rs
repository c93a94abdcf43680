//! Lengths of time on the command line, written as in the configuration.

use crate::config::quantity::{self, NoQuantity};

/// Reads `250ms`, `30s`, `1h30m`, `7d` into milliseconds; for clap.
///
/// # Errors
/// What is wrong, with the likely spelling.
pub fn parse(text: &str) -> Result<u64, String> {
    quantity::milliseconds(text).map_err(|wrong| match wrong {
        NoQuantity::Form => {
            String::from("a duration is a number and a unit: \"30s\", \"1h30m\", \"7d\"")
        }
        NoQuantity::NoUnit(_) => format!("a duration needs a unit: \"{text}s\""),
        NoQuantity::Unit(unit) => format!("no unit `{unit}`: d, h, m, s or ms"),
        NoQuantity::Order => String::from("units go from the longest to the shortest, each once"),
        NoQuantity::TooMuch => String::from("too long"),
    })
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
