use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::*;
use crate::board::serial::SerialError;

/// A driver as drivers are: what it takes, what it refuses, and what was done to it.
#[derive(Clone, Debug, Default)]
struct Driver {
    support: Option<Support>,
    /// Its time-out, and the longest it takes; longer ones are refused, or cut.
    timeout: Option<u32>,
    most: u32,
    cuts: bool,
    pretimeout: Option<u32>,
    reset: Option<bool>,
    stays: bool,
    deaf: bool,
    did: Vec<String>,
}

thread_local! {
    /// The device of the test that runs on this thread.
    static HERE: RefCell<Option<Driver>> = const { RefCell::new(None) };
}

fn driver<T>(with: impl FnOnce(&mut Driver) -> T) -> T {
    HERE.with_borrow_mut(|here| with(here.as_mut().expect("a device")))
}

const ENOTTY: i32 = 25;
const EINVAL: i32 = 22;

/// The open device.
#[derive(Debug)]
struct Open;

impl Device for Open {
    fn open(_: &Path) -> Result<Self, SerialError> {
        HERE.with_borrow_mut(|here| {
            let driver = here.as_mut().ok_or(SerialError::Absent)?;
            driver.did.push("open".to_owned());
            Ok(Self)
        })
    }

    fn support(&mut self) -> Result<Support, i32> {
        driver(|driver| driver.support.clone().ok_or(ENOTTY))
    }

    fn set_timeout(&mut self, seconds: u32) -> Result<(), i32> {
        driver(|driver| {
            driver.did.push(format!("set {seconds}"));
            let has = driver.timeout.as_mut().ok_or(ENOTTY)?;
            if seconds > driver.most && !driver.cuts {
                return Err(EINVAL);
            }
            *has = seconds.min(driver.most);
            Ok(())
        })
    }

    fn timeout(&mut self) -> Result<u32, i32> {
        driver(|driver| driver.timeout.ok_or(ENOTTY))
    }

    fn set_pretimeout(&mut self, seconds: u32) -> Result<(), i32> {
        driver(|driver| {
            driver.did.push(format!("warn {seconds}"));
            *driver.pretimeout.as_mut().ok_or(EINVAL)? = seconds;
            Ok(())
        })
    }

    fn pretimeout(&mut self) -> Result<u32, i32> {
        driver(|driver| driver.pretimeout.ok_or(ENOTTY))
    }

    fn has_reset(&mut self) -> Option<bool> {
        driver(|driver| driver.reset)
    }

    fn feed(&mut self) -> Result<(), i32> {
        driver(|driver| {
            driver.did.push("feed".to_owned());
            if driver.deaf { Err(EINVAL) } else { Ok(()) }
        })
    }

    fn cannot_be_stopped(&self) -> bool {
        driver(|driver| driver.stays)
    }

    fn close(self, stop: bool) {
        driver(|driver| driver.did.push(if stop { "stop" } else { "close" }.to_owned()));
    }
}

const TERMS: Terms = Terms {
    timeout: Span::from_secs(60),
    pretimeout: None,
    boot_grace: Span::from_secs(600),
    nowayout: false,
};

fn usual() -> Driver {
    let support = Support {
        identity: Some("Software Watchdog".to_owned()),
        magic_close: true,
        alarm_only: false,
        pings: true,
    };
    Driver {
        support: Some(support),
        timeout: Some(30),
        most: 900,
        pretimeout: Some(0),
        reset: Some(false),
        ..Driver::default()
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn on(driver: Driver) -> Linux<Open> {
    HERE.set(Some(driver));
    Linux::new(PathBuf::from("/dev/watchdog0"))
}

fn did() -> Vec<String> {
    driver(|driver| std::mem::take(&mut driver.did))
}

#[test]
fn its_time_out_is_set_and_read_back_and_it_is_stopped_by_the_letter() {
    let mut dog = on(usual());
    assert_eq!(dog.standing(), Standing::Closed);
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    let guard = Guard { timeout: Span::from_secs(60), pretimeout: None, stops_when_closed: false };
    assert_eq!(dog.standing(), Standing::Guarding(guard));
    assert_eq!(dog.about().identity.as_deref(), Some("Software Watchdog"));
    assert_eq!(dog.about().has_reset, Some(false));
    assert_eq!((dog.feed(at(1)), dog.feed(at(2))), (Ok(()), Ok(())));
    assert_eq!(dog.about().feeds, 2);
    assert_eq!(dog.end(End::Stop), Left::Stopped);
    assert_eq!(did(), ["open", "set 60", "feed", "feed", "stop"]);
    assert_eq!((dog.standing(), dog.end(End::Stop)), (Standing::Closed, Left::Closed));
}

/// systemd #27427: a time-out that the driver refuses must not look like a guard.
#[test]
fn a_time_out_that_is_refused_is_no_guard_and_one_that_is_cut_is_what_it_is() {
    let mut dog = on(Driver { most: 15, ..usual() });
    let refused = Trouble::TimeoutRefused {
        wanted: Span::from_secs(60),
        has: Some(Span::from_secs(30)),
        errno: EINVAL,
    };
    assert_eq!(dog.open(&TERMS, at(0)), Err(refused));
    assert_eq!(dog.standing(), Standing::Closed);
    assert_eq!(did(), ["open", "set 60", "stop"], "it does not go on by a time nobody wants");
    assert!(refused.to_string().contains("60 s") && refused.to_string().contains("it has 30 s"));

    let mut dog = on(Driver { most: 15, cuts: true, ..usual() });
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    let Standing::Guarding(guard) = dog.standing() else { panic!("{:?}", dog.standing()) };
    assert_eq!(guard.timeout, Span::from_secs(15));

    // One that has no choice and has what is wanted.
    let mut dog = on(Driver { timeout: Some(60), most: 0, ..usual() });
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    assert!(matches!(dog.standing(), Standing::Guarding(_)));
}

#[test]
fn what_is_no_watchdog_or_only_an_alarm_guards_nobody() {
    let mut dog = on(Driver { support: None, timeout: None, ..usual() });
    assert_eq!(dog.open(&TERMS, at(0)), Err(Trouble::NoTimeout(ENOTTY)));
    let alarm = Support { alarm_only: true, ..usual().support.expect("there") };
    let mut dog = on(Driver { support: Some(alarm), ..usual() });
    assert_eq!(dog.open(&TERMS, at(0)), Err(Trouble::AlarmOnly));
    assert_eq!(did(), ["open", "stop"]);
    let deaf = Support { pings: false, ..usual().support.expect("there") };
    let mut dog = on(Driver { support: Some(deaf), ..usual() });
    assert!(matches!(dog.open(&TERMS, at(0)), Err(Trouble::NotFed(_))));
    assert_eq!(did(), ["open", "stop"], "before it is too late");
    HERE.set(None);
    let absent = Err(Trouble::Open(SerialError::Absent));
    assert_eq!(Linux::<Open>::new(PathBuf::new()).open(&TERMS, at(0)), absent);
}

#[test]
fn the_warning_before_the_end_is_set_or_refused() {
    let terms = Terms { pretimeout: Some(Span::from_secs(10)), ..TERMS };
    let mut dog = on(usual());
    assert_eq!(dog.open(&terms, at(0)), Ok(()));
    let Standing::Guarding(guard) = dog.standing() else { panic!("{:?}", dog.standing()) };
    assert_eq!(guard.pretimeout, Some(Span::from_secs(10)));
    assert_eq!(did(), ["open", "set 60", "warn 10"]);
    let mut dog = on(Driver { pretimeout: None, ..usual() });
    let refused = Trouble::PretimeoutRefused { wanted: Span::from_secs(10), errno: EINVAL };
    assert_eq!(dog.open(&terms, at(0)), Err(refused));
}

#[test]
fn no_way_out_is_no_letter_and_a_kernel_that_goes_on_is_believed() {
    let terms = Terms { nowayout: true, ..TERMS };
    let mut dog = on(usual());
    assert_eq!(dog.open(&terms, at(0)), Ok(()));
    assert_eq!(dog.end(End::Stop), Left::Counting(Span::from_secs(60)));
    assert_eq!(did(), ["open", "set 60", "close"]);
    let mut dog = on(Driver { stays: true, ..usual() });
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    assert_eq!(dog.end(End::Stop), Left::Counting(Span::from_secs(60)));
    // A driver without the letter stops whenever it is closed, wanted or not.
    let simple = Support { magic_close: false, ..usual().support.expect("there") };
    let mut dog = on(Driver { support: Some(simple), ..usual() });
    assert_eq!(dog.open(&terms, at(0)), Ok(()));
    let Standing::Guarding(guard) = dog.standing() else { panic!("{:?}", dog.standing()) };
    assert!(guard.stops_when_closed);
    assert_eq!(dog.end(End::Stop), Left::Stopped);
}

#[test]
fn a_reboot_is_guarded_for_its_grace_where_the_driver_counts_so_far() {
    let mut dog = on(usual());
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    assert_eq!(dog.end(End::Reboot), Left::Counting(Span::from_secs(600)));
    assert_eq!(did(), ["open", "set 60", "set 600", "close"]);
    for cuts in [false, true] {
        let mut dog = on(Driver { most: 100, cuts, ..usual() });
        assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
        assert_eq!(dog.end(End::Reboot), Left::Stopped, "too short for a boot");
        assert_eq!(did(), ["open", "set 60", "set 600", "stop"]);
    }
}

#[test]
fn a_reset_is_the_shortest_time_and_no_feed_after_it() {
    let mut dog = on(usual());
    assert_eq!(dog.reset(), Err(Trouble::Gone));
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    assert_eq!(dog.reset(), Ok(()));
    assert_eq!((dog.feed(at(1)), dog.retime(&TERMS, at(2))), (Ok(()), Ok(())));
    assert_eq!(dog.standing(), Standing::Resetting);
    assert_eq!(did(), ["open", "set 60", "set 1"]);
    assert_eq!(dog.end(End::Stop), Left::Counting(Span::from_secs(60)), "and it is not stopped");
    assert_eq!(did(), ["close"]);
}

#[test]
fn other_terms_are_set_without_a_gap_and_one_that_takes_no_feed_is_gone() {
    let mut dog = on(usual());
    assert_eq!(dog.open(&TERMS, at(0)), Ok(()));
    let longer = Terms { timeout: Span::from_secs(90), ..TERMS };
    assert_eq!(dog.retime(&longer, at(1)), Ok(()));
    assert_eq!(did(), ["open", "set 60", "set 90"], "and never closed");
    driver(|driver| driver.deaf = true);
    assert_eq!(dog.feed(at(2)), Err(Trouble::NotFed(EINVAL)));
    assert_eq!(dog.standing(), Standing::Closed);
    assert_eq!(did(), ["feed", "close"], "and not stopped: it may reset a host that is not well");
}
