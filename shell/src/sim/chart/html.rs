//! The picture as a page: self-contained, without scripts, with what is drawn in words beside it.

use std::fmt::Write as _;

use super::svg::{STYLE, escaped, sheet};
use crate::sim::timeline::{Mark, Timeline, What};

/// More rows than these are only counted.
const MOST_ROWS: usize = 500;

const PAGE_STYLE: &str = "\
html{color-scheme:light dark}body{margin:0 auto;padding:1rem;max-width:84rem;background:var(--paper);\
color:var(--ink);font:18px/1.5 system-ui,sans-serif}svg{width:100%;height:auto;display:block}\
.wide{overflow-x:auto}.wide svg{min-width:54rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--rule);\
vertical-align:top}td:first-child{font-variant-numeric:tabular-nums;white-space:nowrap}\
p,caption{color:var(--soft);text-align:left}h1{font-size:1.5rem}h2{font-size:1.2rem}";

/// The page. `sentences` stand above the table, each a paragraph.
#[must_use]
pub fn html(timeline: &Timeline, sentences: &[String]) -> String {
    let title = escaped(&timeline.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for sentence in sentences {
        let _ = writeln!(page, "<p>{}</p>", escaped(sentence)); // a String takes everything
    }
    let _ = writeln!(page, "<div class=\"wide\">\n{}</div>", sheet(timeline, ""));
    for track in &timeline.tracks {
        let told = |mark: &&Mark| !matches!(mark.what, What::Healthy | What::Void);
        let marks: Vec<&Mark> = track.marks.iter().filter(told).collect();
        let probes = track.marks.len() - marks.len();
        let _ = writeln!(
            page,
            "<h2>{}</h2>\n<table>\n<caption>{probes} healthy probes, and:</caption>\n\
             <tr><th>when</th><th>what</th></tr>",
            escaped(&track.name)
        );
        for mark in marks.iter().take(MOST_ROWS) {
            let at = timeline.calendar.short(mark.at, timeline.end);
            let (at, what) = (escaped(&at), escaped(&mark.what.words()));
            let _ = writeln!(page, "<tr><td>{at}</td><td>{what}</td></tr>");
        }
        if marks.len() > MOST_ROWS {
            let more = marks.len() - MOST_ROWS;
            let _ = writeln!(page, "<tr><td></td><td>and {more} more</td></tr>");
        }
        page += "</table>\n";
    }
    page += "</body>\n</html>\n";
    page
}
