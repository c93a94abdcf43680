//! The mark by which everything a command or service starts is found again.

use std::ffi::CStr;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One run of a command or service. Stands in the environment of all its processes, so that
/// those which left their session and lost their parent are still known for what they are.
///
/// No two runs on a host share one within a boot: it names the monitor that began the run, by
/// process and start time, and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instance {
    /// The monitor's process.
    pub monitor: u32,
    /// When that started, in clock ticks since boot.
    pub since: u64,
    /// Which run of it.
    pub number: u64,
}

impl Instance {
    /// The name of the variable.
    pub const VARIABLE: &str = "GIVEOVER_INSTANCE";

    /// As it stands in an environment.
    #[must_use]
    pub fn variable(&self) -> Variable {
        let mut variable = Variable { text: [0; Variable::ROOM], length: 0 };
        variable.push(Self::VARIABLE.as_bytes());
        let parts = [(b"=", u64::from(self.monitor)), (b"-", self.since), (b"-", self.number)];
        for (sign, number) in parts {
            variable.push(sign);
            variable.push_hex(number);
        }
        variable
    }

    /// The instance an environment carries: variables separated by zero bytes.
    #[must_use]
    pub fn find(environment: &[u8]) -> Option<Self> {
        environment
            .split(|byte| *byte == 0)
            .find_map(|line| line.strip_prefix(Self::VARIABLE.as_bytes())?.strip_prefix(b"="))
            .and_then(|value| Self::parse(std::str::from_utf8(value).ok()?))
    }

    fn parse(value: &str) -> Option<Self> {
        let (monitor, rest) = value.split_once('-')?;
        let (since, number) = rest.split_once('-')?;
        Some(Self {
            monitor: u32::from_str_radix(monitor, 16).ok()?,
            since: u64::from_str_radix(since, 16).ok()?,
            number: u64::from_str_radix(number, 16).ok()?,
        })
    }
}

/// A mark as it stands in an environment, for each run anew: without an allocation.
pub struct Variable {
    /// Zero from `length` on, one byte at least.
    text: [u8; Self::ROOM],
    length: usize,
}

impl Variable {
    /// The longest one: the name, three signs, three numbers and the zero byte.
    const ROOM: usize = Instance::VARIABLE.len() + 3 + (8 + 16 + 16) + 1;

    fn push(&mut self, bytes: &[u8]) {
        self.text[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_hex(&mut self, number: u64) {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        for place in (0..digits).rev() {
            self.push(&[b"0123456789abcdef"[(number >> (4 * place)) as usize % 16]]);
        }
    }
}

impl AsRef<CStr> for Variable {
    fn as_ref(&self) -> &CStr {
        // It ends in a zero byte.
        CStr::from_bytes_until_nul(&self.text).unwrap_or_default()
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.monitor, self.since, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_found_in_an_environment() {
        let instance = Instance { monitor: 0xab, since: 0x1234, number: 7 };
        let mut environment = b"PATH=/bin\0XGIVEOVER_INSTANCE=1-1-1\0".to_vec();
        assert_eq!(Instance::find(&environment), None);
        environment.extend_from_slice(instance.variable().as_ref().to_bytes_with_nul());
        assert_eq!(Instance::find(&environment), Some(instance));
    }

    #[test]
    fn a_variable_is_the_mark_as_it_is_shown() {
        for (monitor, since, number) in
            [(0, 0, 0), (1, 15, 16), (0xab, 0x1234, 7), (u32::MAX, u64::MAX, u64::MAX)]
        {
            let instance = Instance { monitor, since, number };
            let shown = format!("{}={instance}", Instance::VARIABLE);
            assert_eq!(instance.variable().as_ref().to_bytes(), shown.as_bytes());
        }
    }

    #[test]
    fn what_is_no_instance_is_none() {
        for value in ["", "1", "1-2", "1-2-", "x-2-3", "1-2-3-4", "-1-2-3", "fffffffff-1-1"] {
            let environment = format!("GIVEOVER_INSTANCE={value}");
            assert_eq!(Instance::find(environment.as_bytes()), None, "{value}");
        }
    }
}
