//! The invariants of the reset line (C), at the moment a pulse begins. What they know of the board is
//! what anybody sees of it: its edges, its settings, what is in its store.

use super::BoardPart;

/// A board believes its jumper once it has read the same for 50 ms.
const BOUNCES: u64 = 100;
/// After any power-up nothing is pulled for so long.
const HOLD_OFF: u64 = 2_000;

impl BoardPart<'_> {
    /// C2 to C6. `durable`: its intent was in the store before the line moved.
    pub(super) fn judge_pulse(&mut self, now: u64, durable: bool) {
        let settings = self.seen().settings();
        if self.line_is_held() {
            self.breaks("two pulses at a time".to_owned());
        }
        if self.jumper > 0 && now - self.jumper_since > BOUNCES {
            self.breaks("C5: a pulse past the jumper".to_owned());
        }
        if now.saturating_sub(self.started) < HOLD_OFF {
            self.breaks("C5: a pulse within the hold-off".to_owned());
        }
        if !durable {
            self.breaks("C6: the intent of a pulse is not durable".to_owned());
        }
        let grace = u64::from(settings.boot_grace.as_millis());
        let last = self.resets().last();
        if let Some(last) = last.filter(|last| now - last < grace) {
            self.breaks(format!("C3: a pulse {} ms after the one before", now - last));
        }
        let window = u64::from(settings.retry_interval.as_millis());
        let counted = self.resets().skip(self.cleared);
        let inside = counted.filter(|at| now - at <= window).count() + 1;
        if inside > usize::from(settings.retry_count) {
            self.breaks(format!("C4: {inside} pulses within {window} ms"));
        }
    }
}
