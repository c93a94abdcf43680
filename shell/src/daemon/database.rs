//! What monitors of databases found besides a verdict: rows of the table of errors that were met,
//! and what these lead to.

use giveover_core::failure::Cause;
use giveover_core::monitor::{Ended, Waiting};

use super::Daemon;
use super::once::ONCE;
use super::run::Errand;
use crate::check::database::Told;
use crate::message::{self, cause};
use crate::reactor::End;

impl Daemon {
    /// Takes what the monitors of databases have to tell.
    pub(super) fn take_from_databases(&mut self) {
        while let Some(told) = self.databases.as_mut().and_then(|databases| databases.answer()) {
            let Told { answer, said, stop, run } = told;
            let service = answer.id.service as usize;
            if answer.id.cycle & ONCE == 0 && service < self.shown() {
                for text in said {
                    self.say(service, message::Event::DatabaseError, text);
                }
                if let Some(argv) = run {
                    self.begin_errand(service, Errand::Row, &argv);
                }
            }
            self.take(answer);
            if let Some(why) = stop.filter(|_| service < self.shown()) {
                self.stop_by_row(service, &why);
            }
        }
    }

    /// A row says that the monitor is to end, not the database.
    fn stop_by_row(&mut self, service: usize, why: &str) {
        let ended = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::GivenOver
                | Waiting::Ended(Ended::Stopped | Ended::NotBegun | Ended::Unmonitored)
        );
        if !ended {
            self.end_monitor(service, &format!("a row of errors ({why})"));
        }
    }

    /// What a row runs in the background has ended.
    pub(super) fn row_ran(&mut self, service: usize, end: End) {
        let code = match end {
            End::Exit(Some(exit)) => exit.code(),
            End::Exit(None) => Cause::UNKNOWN,
            End::TimedOut => Cause::TIMED_OUT,
            End::NotRun(error) => error.code(),
            End::Cancelled => return,
        };
        let text = format!("what a row of errors runs: {}", cause::ended(code));
        self.say(service, message::Event::RowRan, text);
    }
}
