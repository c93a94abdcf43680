//! Looking at services: one file per kind of check, one driver per transport.
//!
//! A probe is begun with a [`ProbeId`] and answered exactly once with an [`Answer`]: a verdict,
//! "cannot measure", or "void" when we did not run. Nothing here counts or decides.

use giveover_core::failure::ProbeResult;

/// Which check of which service a probe belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeId {
    /// The service's place in the plan.
    pub service: u32,
    /// The check's place in its service.
    pub check: u8,
    /// The address's place in the check, for checks of several addresses.
    pub target: u8,
    /// Counts the cycles of the service: an answer of an earlier one is late.
    pub cycle: u32,
}

/// What one probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whose probe it was.
    pub id: ProbeId,
    /// What to make of it; causes carry the check's number.
    pub result: ProbeResult,
    /// From start to answer, in milliseconds. Shown, never judged (R17).
    pub elapsed_ms: u32,
    /// What a healthy answer showed (an HTTP status, days of a certificate), zero if nothing.
    pub shown: u16,
}
