//! The dialogue of `remote` checks: another daemon's `/status.json`, and what it says of one service.

use giveover_core::failure::Phase;
use serde::Deserialize;

use super::http::HttpDialogue;
use super::outcome::{Outcome, Step};
use crate::config::remote::{NO_SERVICE, RemotePlan, STATUSES, UNKNOWN};
use crate::config::talk::codes;

/// What of the document counts here.
#[derive(Deserialize)]
struct Document<'d> {
    #[serde(borrow)]
    services: Vec<Service<'d>>,
}

#[derive(Deserialize)]
struct Service<'d> {
    name: std::borrow::Cow<'d, str>,
    status: std::borrow::Cow<'d, str>,
}

/// How far the answer has been read.
#[derive(Debug)]
pub struct RemoteDialogue(HttpDialogue);

impl Default for RemoteDialogue {
    fn default() -> Self {
        Self(HttpDialogue::keeping())
    }
}

impl RemoteDialogue {
    /// Takes what has arrived.
    pub fn on_bytes(&mut self, plan: &RemotePlan, bytes: &[u8]) -> Step {
        match self.0.on_bytes(&plan.http, bytes) {
            Step::Done { outcome, whole } => {
                Step::Done { outcome: self.judged(plan, outcome), whole }
            }
            other => other,
        }
    }

    /// The other side is done.
    #[must_use]
    pub fn on_close(&self, plan: &RemotePlan) -> Outcome {
        self.judged(plan, self.0.on_close(&plan.http))
    }

    fn judged(&self, plan: &RemotePlan, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Healthy { .. } => judge(plan, self.0.kept()),
            other => other,
        }
    }
}

/// What `document` says of the service that is asked for.
fn judge(plan: &RemotePlan, document: &[u8]) -> Outcome {
    let Ok(document) = serde_json::from_slice::<Document<'_>>(document) else {
        return Outcome::wrong(0);
    };
    let Some(service) = document.services.iter().find(|it| *it.name == *plan.service) else {
        return Outcome::Lacking { phase: Phase::Answer, code: NO_SERVICE };
    };
    match codes::code_of(&STATUSES, service.status.as_bytes()) {
        0 => Outcome::wrong(0),
        code if plan.expect.contains(&code) => Outcome::Healthy { shown: code },
        UNKNOWN => Outcome::Lacking { phase: Phase::Answer, code: UNKNOWN },
        code => Outcome::wrong(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plan::{HttpPlan, Method};

    fn plan(expect: &[u16]) -> RemotePlan {
        let http = HttpPlan {
            by_document: false,
            method: Method::Get,
            path: "/status.json".into(),
            host: "giveover".into(),
            expect: vec![(200, 200)],
            body: None,
            cap: 4096,
        };
        RemotePlan { service: "web".into(), expect: expect.to_vec(), http }
    }

    fn answer(status: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    /// The verdict on `bytes`, however they are cut.
    fn verdict(plan: &RemotePlan, bytes: &[u8]) -> Outcome {
        let of = |pieces: &[&[u8]]| {
            let mut dialogue = RemoteDialogue::default();
            for piece in pieces {
                if let Step::Done { outcome, .. } = dialogue.on_bytes(plan, piece) {
                    return outcome;
                }
            }
            dialogue.on_close(plan)
        };
        let whole = of(&[bytes]);
        for cut in 0..bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(of(&[first, second]), whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn a_status_is_right_if_it_is_expected() {
        let of = |status: &str| {
            let body = format!(
                r#"{{"schema":1,"new":[{{}}],"services":[{{"name":"db","status":"faulted"}},
                {{"name":"web","x":null,"status":"{status}"}}]}}"#
            );
            verdict(&plan(&[1, 2]), &answer("200 OK", &body))
        };
        assert_eq!(of("ok"), Outcome::Healthy { shown: 1 });
        assert_eq!(of("degraded"), Outcome::Healthy { shown: 2 });
        assert_eq!(of("faulted"), Outcome::wrong(3));
        assert_eq!(of("offline"), Outcome::wrong(4));
        assert_eq!(of("unknown"), Outcome::Lacking { phase: Phase::Answer, code: 5 });
        assert_eq!(of("of a later version"), Outcome::wrong(0));
    }

    #[test]
    fn what_says_nothing_of_the_service_is_told_apart_from_a_failure() {
        let plan = plan(&[1]);
        let none = Outcome::Lacking { phase: Phase::Answer, code: NO_SERVICE };
        assert_eq!(verdict(&plan, &answer("200 OK", r#"{"services":[]}"#)), none);
        for body in ["", "{}", "[]", "<html>", r#"{"services":[{"name":"web"}]}"#] {
            assert_eq!(verdict(&plan, &answer("200 OK", body)), Outcome::wrong(0), "{body}");
        }
        assert_eq!(verdict(&plan, &answer("403 Forbidden", "{}")), Outcome::wrong(403));
        assert_eq!(
            verdict(&plan, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
            Outcome::cut()
        );
        let long = answer("200 OK", &format!("{}{{\"services\":[]}}", " ".repeat(5000)));
        assert_eq!(
            RemoteDialogue::default().on_bytes(&plan, &long),
            Step::Done { outcome: Outcome::wrong(0), whole: false }
        );
    }
}
