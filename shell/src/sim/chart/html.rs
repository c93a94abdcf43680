//! The picture as a page: self-contained, without scripts, with what is drawn in words beside it.

use std::fmt::Write as _;

use giveover_core::time::Instant;

use super::svg::{STYLE, escaped, sheet};
use crate::sim::timeline::{Mark, Stay, Timeline, What};

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
    for lane in &timeline.lanes {
        let told: Vec<_> = lane.told().map(|(at, word)| (at, word.to_owned())).collect();
        rows(&lane.name, "", told, timeline, &mut page);
    }
    for track in &timeline.tracks {
        let told = |mark: &&Mark| !matches!(mark.what, What::Healthy | What::Void);
        let marks = track.marks.iter().filter(told).map(|mark| (mark.at, mark.what.words()));
        let mut all: Vec<_> = marks.collect();
        let caption = format!("{} healthy probes, and:", track.marks.len() - all.len());
        all.extend(track.stays.iter().flat_map(Stay::told));
        rows(&track.name, &caption, all, timeline, &mut page);
    }
    for pool in &timeline.pools {
        rows(&pool.name, "", pool.told.clone(), timeline, &mut page);
    }
    page += "</body>\n</html>\n";
    page
}

/// What happened to one of them, in a table.
fn rows(
    name: &str,
    caption: &str,
    mut all: Vec<(Instant, String)>,
    timeline: &Timeline,
    page: &mut String,
) {
    all.sort_by_key(|(at, _)| *at);
    let more = all.len().saturating_sub(MOST_ROWS);
    let _ = writeln!(page, "<h2>{}</h2>\n<table>", escaped(name));
    if !caption.is_empty() {
        let _ = writeln!(page, "<caption>{caption}</caption>");
    }
    *page += "<tr><th>when</th><th>what</th></tr>\n";
    for (at, what) in all.into_iter().take(MOST_ROWS) {
        let at = escaped(&timeline.calendar.short(at, timeline.end));
        let _ = writeln!(page, "<tr><td>{at}</td><td>{}</td></tr>", escaped(&what));
    }
    if more > 0 {
        let _ = writeln!(page, "<tr><td></td><td>and {more} more</td></tr>");
    }
    *page += "</table>\n";
}
