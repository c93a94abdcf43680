//! What the light says, as on and off.

use giveover_core::board::Light;
use giveover_core::time::Instant;

/// Flashes come round every two seconds.
const ROUND_MS: u32 = 2000;
/// A flash, and the dark behind it.
const FLASH_MS: u32 = 100;
const FROM_FLASH_TO_FLASH_MS: u32 = 300;

/// Whether the light is on at `now`.
#[must_use]
pub const fn is_on(light: Light, now: Instant) -> bool {
    // A round that is cut short each 49 days is nothing; to divide 64 bits is much code.
    let at = now.as_millis() as u32 % ROUND_MS;
    let flashes = match light {
        Light::OneFlash => 1,
        Light::TwoFlashes => 2,
        Light::ThreeFlashes => 3,
        Light::FourFlashes => 4,
        Light::Fast => return at % 200 < 100,
        Light::Slow => return at % 1000 < 500,
        Light::On | Light::Steady => return true,
    };
    at < flashes * FROM_FLASH_TO_FLASH_MS && at % FROM_FLASH_TO_FLASH_MS < FLASH_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often it goes on in a round, and for how many milliseconds it is on.
    fn seen(light: Light) -> (u32, u32) {
        let on = |ms: u64| is_on(light, Instant::from_millis(ms));
        let begins = (20_000..22_000).filter(|ms| on(*ms) && !on(ms - 1)).count() as u32;
        (begins, (20_000..22_000).filter(|ms| on(*ms)).count() as u32)
    }

    #[test]
    fn each_state_can_be_told_across_a_room() {
        assert_eq!(seen(Light::OneFlash), (1, 100));
        assert_eq!(seen(Light::TwoFlashes), (2, 200));
        assert_eq!(seen(Light::ThreeFlashes), (3, 300));
        assert_eq!(seen(Light::FourFlashes), (4, 400));
        assert_eq!(seen(Light::Fast), (10, 1000));
        assert_eq!(seen(Light::Slow), (2, 1000));
        assert_eq!(seen(Light::On), (0, 2000));
        assert_eq!(seen(Light::Steady), (0, 2000));
    }
}
