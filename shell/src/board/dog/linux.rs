//! A watchdog of the kernel's: started by being opened, fed by being written to, stopped by a
//! letter before it is closed.
//!
//! A driver may take another time-out than the one it is given, or none at all, and says so only
//! when it is asked: it is asked each time, and what it answers is what holds.

use std::path::PathBuf;

use giveover_core::board::End;
use giveover_core::time::{Instant, Span};
use rustix::io::Errno;

use super::device::{Device, Support};
use super::{About, Dog, Guard, Left, Standing, Terms, Trouble};

/// The shortest time there is: for a reset that is wanted now.
const LEAST: Span = Span::from_secs(1);

/// One of the kernel's watchdogs, opened or not.
#[derive(Debug)]
pub struct Linux<D> {
    path: PathBuf,
    device: Option<D>,
    support: Support,
    guard: Option<Guard>,
    boot_grace: Span,
    nowayout: bool,
    resetting: bool,
    about: About,
}

impl<D: Device> Linux<D> {
    /// The watchdog of this name, as `/dev/watchdog0`.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            device: None,
            support: Support::default(),
            guard: None,
            boot_grace: LEAST,
            nowayout: false,
            resetting: false,
            about: About::default(),
        }
    }

    /// Tells the open device its terms; what it says of them.
    fn set(&mut self, terms: &Terms) -> Result<Guard, Trouble> {
        let device = self.device.as_mut().ok_or(Trouble::Gone)?;
        if self.support.alarm_only {
            return Err(Trouble::AlarmOnly);
        }
        if self.support.identity.is_some() && !self.support.pings {
            return Err(Trouble::NotFed(Errno::OPNOTSUPP.raw_os_error()));
        }
        let wanted = terms.timeout;
        let set = device.set_timeout(seconds(wanted));
        let has = device.timeout().map(Span::from_secs);
        let timeout = match (set, has) {
            (Ok(()), Ok(has)) if !has.is_zero() => has,
            // It cannot be told, and has it already.
            (Err(_), Ok(has)) if has == wanted => has,
            (Err(errno), Ok(has)) => {
                return Err(Trouble::TimeoutRefused { wanted, has: Some(has), errno });
            }
            (_, Err(errno)) => return Err(Trouble::NoTimeout(errno)),
            (Ok(()), Ok(_)) => return Err(Trouble::TimeoutRefused { wanted, has: None, errno: 0 }),
        };
        if let Some(wanted) = terms.pretimeout {
            let refused = |errno| Trouble::PretimeoutRefused { wanted, errno };
            device.set_pretimeout(seconds(wanted)).map_err(refused)?;
        }
        let pretimeout = device.pretimeout().ok().filter(|seconds| *seconds > 0);
        Ok(Guard {
            timeout,
            pretimeout: pretimeout.map(Span::from_secs),
            stops_when_closed: !self.support.magic_close,
        })
    }

    fn take_terms(&mut self, terms: &Terms) -> Result<(), Trouble> {
        self.boot_grace = terms.boot_grace;
        self.nowayout = terms.nowayout;
        match self.set(terms) {
            Ok(guard) => {
                self.guard = Some(guard);
                Ok(())
            }
            // Opened it counts, by a time that nobody knows: it is stopped, if it may be.
            Err(trouble) => Err(self.lose(trouble, !self.nowayout)),
        }
    }

    fn lose(&mut self, trouble: Trouble, stop: bool) -> Trouble {
        self.guard = None;
        if let Some(device) = self.device.take() {
            device.close(stop);
        }
        trouble
    }

    /// For a boot that takes `boot_grace`: whether it counts as long as that now.
    fn wait_for_boot(&mut self) -> bool {
        let wanted = seconds(self.boot_grace);
        let Some(device) = &mut self.device else { return false };
        let set = device.set_timeout(wanted).is_ok();
        set && device.timeout().is_ok_and(|has| has >= wanted)
    }
}

fn seconds(span: Span) -> u32 {
    (span.as_millis() / 1000).max(1)
}

impl<D: Device> Dog for Linux<D> {
    fn open(&mut self, terms: &Terms, _now: Instant) -> Result<(), Trouble> {
        self.resetting = false;
        let mut device = D::open(&self.path).map_err(Trouble::Open)?;
        // One that cannot say what it can do is one of the simplest.
        self.support = device.support().unwrap_or_default();
        self.about = About {
            identity: self.support.identity.clone(),
            has_reset: device.has_reset(),
            ..About::default()
        };
        self.device = Some(device);
        self.take_terms(terms)
    }

    fn retime(&mut self, terms: &Terms, _now: Instant) -> Result<(), Trouble> {
        if self.device.is_none() || self.resetting {
            return Ok(());
        }
        self.take_terms(terms)
    }

    fn standing(&self) -> Standing {
        match (&self.device, self.guard) {
            (None, _) => Standing::Closed,
            (Some(_), _) if self.resetting => Standing::Resetting,
            (Some(_), Some(guard)) => Standing::Guarding(guard),
            (Some(_), None) => Standing::Opening,
        }
    }

    fn feed(&mut self, _now: Instant) -> Result<(), Trouble> {
        let Some(device) = self.device.as_mut().filter(|_| !self.resetting) else { return Ok(()) };
        match device.feed() {
            Ok(()) => {
                self.about.feeds = self.about.feeds.saturating_add(1);
                Ok(())
            }
            Err(errno) => Err(self.lose(Trouble::NotFed(errno), false)),
        }
    }

    fn reset(&mut self) -> Result<(), Trouble> {
        let device = self.device.as_mut().ok_or(Trouble::Gone)?;
        // A driver with a longer least time, or without any choice, takes what it has.
        let _ = device.set_timeout(seconds(LEAST));
        self.resetting = true;
        Ok(())
    }

    fn end(&mut self, end: End) -> Left {
        let Some(timeout) = self.guard.map(|guard| guard.timeout) else {
            self.lose(Trouble::Gone, !self.nowayout);
            return Left::Closed;
        };
        let left = if self.resetting {
            Left::Counting(timeout)
        } else if end == End::Reboot && self.support.magic_close && self.wait_for_boot() {
            Left::Counting(self.boot_grace)
        } else if self.nowayout && self.support.magic_close
            || self.device.as_ref().is_some_and(D::cannot_be_stopped)
        {
            Left::Counting(timeout)
        } else {
            Left::Stopped
        };
        self.lose(Trouble::Gone, left == Left::Stopped);
        left
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

#[cfg(test)]
mod tests;
