//! Something that speaks on the far end of a terminal line, on a thread of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The far end of a line; the near one is what a program opens.
#[derive(Debug)]
pub struct FarEnd(Option<File>);

impl FarEnd {
    /// A line, and the name of its near end.
    fn new() -> (Self, PathBuf) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let far = openpt(flags).expect("a pseudo terminal");
        grantpt(&far).expect("granted");
        unlockpt(&far).expect("unlocked");
        let path = ptsname(&far, Vec::new()).expect("its name").into_string().expect("ASCII");
        rustix::io::ioctl_fionbio(&far, true).expect("non-blocking");
        (Self(Some(File::from(far))), PathBuf::from(path))
    }

    /// The bytes that have come, as many as fit.
    pub fn read(&mut self, bytes: &mut [u8]) -> usize {
        // Nobody has the line open, or nothing has come: both are told as errors.
        self.0.as_mut().and_then(|far| far.read(bytes).ok()).unwrap_or(0)
    }

    /// Says something. Whoever should read it may have gone.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(far) = self.0.as_mut().filter(|_| !bytes.is_empty()) {
            let _ = far.write_all(bytes);
        }
    }

    /// The line is gone, as when a plug is pulled.
    pub fn hang_up(&mut self) {
        self.0 = None;
    }
}

/// What is plugged in: a `T` that its thread steps again and again until it is stopped.
pub struct Plugged<T> {
    /// The line.
    pub path: PathBuf,
    inside: Arc<Mutex<T>>,
    alive: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Plugged<T> {
    /// Makes it at the far end of a new line. `step` says whether there was anything to do.
    ///
    /// # Panics
    /// There are no pseudo terminals.
    #[must_use]
    pub fn new(
        make: impl FnOnce(FarEnd) -> T,
        mut step: impl FnMut(&mut T) -> bool + Send + 'static,
    ) -> Self {
        let (far, path) = FarEnd::new();
        let inside = Arc::new(Mutex::new(make(far)));
        let alive = Arc::new(AtomicBool::new(true));
        let (shared, goes_on) = (Arc::clone(&inside), Arc::clone(&alive));
        let thread = std::thread::spawn(move || {
            while goes_on.load(Ordering::Relaxed) {
                let busy = step(&mut shared.lock().expect("no test has failed"));
                if !busy {
                    // Whoever wants it gets it now.
                    std::thread::park_timeout(Duration::from_millis(1));
                }
            }
        });
        Self { path, inside, alive, thread: Some(thread) }
    }

    /// The thing itself, between two of its steps.
    ///
    /// # Panics
    /// Its thread has.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.inside.lock().expect("its thread is well")
    }
}

impl<T> Plugged<T> {
    /// Whether its thread goes on.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Steps it no more.
    ///
    /// # Panics
    /// Its thread has.
    pub fn stop(&mut self) {
        self.alive.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "its thread is well");
        }
    }
}

impl<T> Drop for Plugged<T> {
    fn drop(&mut self) {
        self.stop();
    }
}
