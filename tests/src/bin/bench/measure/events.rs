//! What programs tell while they run, each line with the moment it reached us.

use crate::clock::now_ns;
use crate::why::{While, Why};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// A line and its moment, in ns.
pub(crate) struct Event {
    pub(crate) at_ns: u64,
    pub(crate) text: String,
}

/// All that is told, from a datagram socket and from the outputs added to it.
pub(crate) struct Events {
    pub(crate) socket: PathBuf,
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Events {
    /// Opens the socket in `room`.
    pub(crate) fn open(room: &Path) -> Result<Events, Why> {
        let socket = room.join("events.sock");
        let datagrams = UnixDatagram::bind(&socket).while_doing("the events socket")?;
        let (sender, receiver) = mpsc::channel();
        let out = sender.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Ends at the first datagram after the reader is gone.
            while let Ok(length) = datagrams.recv(&mut bytes) {
                let (at_ns, text) = (now_ns(), String::from_utf8_lossy(&bytes[..length]));
                if out.send(Event { at_ns, text: text.into_owned() }).is_err() {
                    return;
                }
            }
        });
        Ok(Events { socket, sender, receiver })
    }

    /// Reads the lines of `output` too, until its end.
    pub(crate) fn add(&self, output: impl Read + Send + 'static) {
        let out = self.sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let at_ns = now_ns();
                let sent = line.is_ok_and(|text| out.send(Event { at_ns, text }).is_ok());
                if !sent {
                    return;
                }
            }
        });
    }

    /// The next one, unless `until_ns` comes first.
    pub(crate) fn next(&self, until_ns: u64) -> Option<Event> {
        let patience = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
        self.receiver.recv_timeout(patience).ok()
    }
}
