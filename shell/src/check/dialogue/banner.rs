//! SMTP, FTP and NNTP: the server greets with a number. We say nothing before: some servers
//! take it amiss.

use super::reply::Reply;
use super::talk::{Heard, NONSENSE, expects, judged};
use crate::config::talk::{BannerPlan, Greets};

/// The parting words of all three.
const QUIT: &[u8] = b"QUIT\r\n";

/// What EHLO is answered with.
const EHLO_OK: u16 = 250;

/// A greeting as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Banner {
    reply: Reply,
    greeted: bool,
}

impl Banner {
    /// Nothing before the greeting, EHLO after it if that is wanted.
    pub(super) fn words(&self, plan: &BannerPlan, out: &mut Vec<u8>) {
        if let (true, Some(name)) = (self.greeted, &plan.ehlo) {
            out.extend_from_slice(b"EHLO ");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }

    pub(super) fn byte(&mut self, plan: &BannerPlan, byte: u8) -> Heard {
        let code = match self.reply.byte(plan.greets == Greets::Ftp, byte) {
            None => return Heard::More,
            Some(Err(_)) => return NONSENSE,
            Some(Ok(code)) => code,
        };
        match (self.greeted, &plan.ehlo) {
            (false, Some(_)) if expects(&plan.expect, code) => {
                *self = Self { reply: Reply::default(), greeted: true };
                Heard::Say
            }
            (false, _) => judged(expects(&plan.expect, code), code, QUIT),
            (true, _) => judged(code == EHLO_OK, code, QUIT),
        }
    }
}
