//! The dashboard: one page that needs nothing else. It can be read without its script, which only
//! fetches it again when something has happened.

use std::fmt::Write as _;

use super::model::{EventDoc, ServiceDoc, StatusDoc};
use super::phrase;
use super::time::{self, Moment};
use crate::message::span;

/// What a browser may do with the page: its own style and script, and asking us.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; \
                          frame-ancestors 'none'";

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--card:#f6f8fa;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;\
--ok:#1a7f37;--degraded:#9a6700;--faulted:#cf222e;--other:#57606a;--bar:#8250df}\
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--card:#161b22;--ink:#f0f6fc;--soft:#9198a1;\
--rule:#3d444d;--ok:#3fb950;--degraded:#d29922;--faulted:#f85149;--other:#9198a1;--bar:#ab7df8}}\
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);\
font:17px/1.45 system-ui,sans-serif}main{max-width:80rem;margin:0 auto;padding:1rem 1.25rem 3rem}\
h1{font-size:1.5rem;margin:.25rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}\
p{margin:.25rem 0;color:var(--soft)}.alarm{color:var(--faulted);font-weight:700}\
.services{list-style:none;margin:1rem 0;padding:0}\
.services>li{display:grid;grid-template-columns:10rem 9rem 8rem 9rem minmax(0,1fr);gap:.25rem 1rem;\
align-items:center;padding:.6rem .75rem;border-bottom:1px solid var(--rule)}\
.name{font-weight:650;overflow-wrap:anywhere}.status{font-weight:650}.ok{color:var(--ok)}\
.degraded{color:var(--degraded)}.faulted{color:var(--faulted)}.unknown,.offline{color:var(--other)}\
.cycles{font-family:ui-monospace,monospace;letter-spacing:.08em;white-space:pre}\
.more{grid-column:1/-1;color:var(--soft);overflow-wrap:anywhere}\
meter{width:5rem;height:.9rem;vertical-align:middle}\
table{border-collapse:collapse;width:100%}td{padding:.25rem .75rem .25rem 0;vertical-align:top;\
border-bottom:1px solid var(--rule)}td:first-child{white-space:nowrap;font-variant-numeric:tabular-nums}\
.last{overflow-wrap:anywhere}.warning{color:var(--degraded)}.error,.critical{color:var(--faulted)}\
@media (max-width:44rem){.services>li{grid-template-columns:1fr auto;padding:.75rem;margin-bottom:.75rem;\
border:1px solid var(--rule);border-radius:.5rem;background:var(--card)}.cycles{grid-column:1/-1}\
td{display:block;border:0;padding:0}tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--rule)}}";

/// The script of the page: a file of its own, so that nothing written into the page can run.
pub const SCRIPT: &str = "\
\"use strict\";
const news = new EventSource(\"/events?n=0\");
let waits = false;
async function again() {
  waits = false;
  try {
    const answer = await fetch(\"/\");
    const page = new DOMParser().parseFromString(await answer.text(), \"text/html\");
    document.querySelector(\"main\").replaceWith(page.querySelector(\"main\"));
  } catch {
    document.querySelector(\"#fresh\").textContent = \"the daemon does not answer; this is what was last known\";
  }
}
function soon() {
  if (!waits) {
    waits = true;
    setTimeout(again, 300);
  }
}
news.onmessage = soon;
setInterval(soon, 10000);
";

/// The page.
#[must_use]
pub fn html(doc: &StatusDoc, events: &[EventDoc]) -> String {
    let node = escaped(&doc.host.node);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n\
         <title>{node}: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
        title = escaped(&counts(&doc.services)),
    );
    let now = Moment::parse(&doc.at).unwrap_or_else(Moment::now);
    head(doc, now, &mut page);
    services(doc, &mut page);
    happened(events, now, &mut page);
    page += "</main>\n<script src=\"/live.js\" defer></script>\n</body>\n</html>\n";
    page
}

/// Text that cannot be taken for markup: what a service answered may be anything.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// `4 services: 1 faulted, 3 ok`
fn counts(services: &[ServiceDoc]) -> String {
    let count = |word: &str| services.iter().filter(|it| it.status == word).count();
    let words = ["faulted", "degraded", "unknown", "offline", "ok"];
    let parts = words.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
    let all = crate::config::many(services.len(), "service");
    if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) }
}

fn head(doc: &StatusDoc, now: Moment, page: &mut String) {
    let host = &doc.host;
    let _ = writeln!(
        page,
        "<h1>{}</h1>\n<p>{}</p>",
        escaped(&host.node),
        escaped(&counts(&doc.services))
    );
    let mut line = format!(
        "giveover {}, up {}; actions {} of {} in {}",
        doc.version,
        span::coarse(host.up_ms),
        host.actions.spent,
        host.actions.count,
        span::window(host.actions.per_ms)
    );
    if host.trusted.total > 0 {
        let _ =
            write!(line, "; trusted {} of {} answer", host.trusted.answering, host.trusted.total);
    }
    let _ = writeln!(page, "<p>{}</p>", escaped(&line));
    let _ = writeln!(page, "<p id=\"fresh\">as of {} UTC</p>", now.time());
    let mut alarm = |text: &str| {
        let _ = writeln!(page, "<p class=\"alarm\">{}</p>", escaped(text));
    };
    if host.observe {
        alarm("OBSERVING: every decision is made and shown, nothing is acted on");
    }
    if host.local_fault {
        alarm("LOCAL FAULT: many services fail and no trusted server answers, acting on none");
    }
    if host.journal != "ok" {
        alarm(&format!("THE JOURNAL {}", host.journal));
    }
    match &doc.board {
        Some(board) if board.armed => {
            let _ = writeln!(page, "<p>board {}</p>", escaped(&super::board::line(board)));
        }
        Some(board) => alarm(&format!("board {}", super::board::line(board))),
        None => {}
    }
}

fn services(doc: &StatusDoc, page: &mut String) {
    page.push_str("<ul class=\"services\">\n");
    for service in phrase::not_ok_first(&doc.services) {
        let budget = match service.retry_count {
            Some(count) => format!("{} of {count} restarts", service.restarts),
            None => format!("{} restarts", service.restarts),
        };
        let _ = writeln!(
            page,
            "<li><span class=\"name\">{name}</span>\
             <span class=\"status {class}\">{status} {age}</span>\
             <span title=\"the sum of weights: 100 is a failure\">\
             <meter min=\"0\" max=\"100\" high=\"49\" optimum=\"0\" value=\"{sum}\"></meter> {sum}</span>\
             <span>{budget}</span><span class=\"cycles\">{cycles}</span>\
             <span class=\"more\">{more}</span></li>",
            name = escaped(&service.name),
            class = class(&service.status),
            status = escaped(&service.status),
            age = span::coarse(service.for_ms),
            sum = service.failure_sum,
            cycles = escaped(&service.cycles),
            more = escaped(&more(service)),
        );
    }
    page.push_str("</ul>\n<p>. healthy o part x complete ? cannot measure - not probed R restart G giveover</p>\n");
}

/// Only words of ours become a class.
fn class(status: &str) -> &'static str {
    let known = ["ok", "degraded", "faulted", "offline"];
    known.into_iter().find(|word| *word == status).unwrap_or("unknown")
}

/// What its checks found, and why it waits.
fn more(service: &ServiceDoc) -> String {
    let checks = service.checks.iter().map(|check| {
        let cause = if check.cause.is_empty() { check.outcome.as_str() } else { &check.cause };
        format!("{} {cause}", check.name)
    });
    let checks = checks.filter(|check| !service.detail.contains(check.as_str()));
    let detail = Some(service.detail.clone()).filter(|detail| !detail.is_empty());
    detail.into_iter().chain(checks).collect::<Vec<_>>().join("; ")
}

fn happened(events: &[EventDoc], now: Moment, page: &mut String) {
    page.push_str("<h2>What happened</h2>\n<table>\n");
    for event in events.iter().rev().filter(|event| !event.is_legacy()) {
        let service = if event.service.is_empty() { "the host" } else { &event.service };
        let level = ["warning", "error", "critical"];
        let level = level.into_iter().find(|word| *word == event.level).unwrap_or("");
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"last {level}\">{}</td></tr>",
            escaped(&time::short(&event.at, now)),
            escaped(service),
            escaped(&event.text)
        );
    }
    page.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::message::Event;

    #[test]
    fn the_page_says_everything_without_its_script() {
        let doc = sample::gateway();
        let event = EventDoc::new(Event::Restart, "web", "restart 1 of 2: page 503".to_owned());
        let page = html(&doc, &[event]);
        for service in &doc.services {
            assert!(
                page.contains(&format!("class=\"name\">{}<", service.name)),
                "{}",
                service.name
            );
            assert!(page.contains(&escaped(&service.cycles)));
        }
        assert!(page.contains("restart 1 of 2: page 503"));
        assert!(page.contains("http-equiv=\"refresh\""), "without a script it is loaded again");
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains("prefers-color-scheme:dark") && page.contains("max-width:44rem"));
    }

    #[test]
    fn nothing_that_was_said_becomes_markup() {
        let mut doc = sample::gateway();
        doc.services[0].detail = "</main><script>alert(1)</script>".to_owned();
        doc.services[0].status = "\"><script>".to_owned();
        doc.host.node = "<b>".to_owned();
        let page = html(&doc, &[]);
        assert_eq!(page.matches("<script").count(), 1, "only ours");
        assert!(!page.contains("<b>"));
    }
}
