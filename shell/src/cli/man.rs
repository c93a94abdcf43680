//! `giveover man`

use clap::Args;
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, bold, roman};

use super::exit::{self, Exit, Stop};
use super::help::OVERVIEW;
use super::session::Session;
use super::{command, other};
use crate::config::schema;

/// Print a manual page, for man(1)
#[derive(Debug, Args)]
#[command(
    after_help = "`giveover man > giveover.1`, `giveover man giveover.toml > giveover.toml.5`, \
                  `giveover man giveover-board > giveover-board.7`; `man -l FILE` shows one."
)]
pub(super) struct Man {
    /// A verb, `giveover.toml`, or `giveover-board` [giveover itself]
    #[arg(value_name = "PAGE")]
    words: Vec<String>,
}

/// Where a page of the configuration or of the board refers to.
const SEE: &str = "giveover(1), giveover.toml(5), giveover-board(7)";

pub(super) fn run(verb: &Man, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let page = match verb.words.as_slice() {
        [] => itself()?,
        [page] if page == "giveover.toml" => configuration(),
        [page] if page == "giveover-board" => board(),
        words => of_verb(words)?,
    };
    session.print(&page)?;
    Ok(Exit::DONE)
}

/// What `giveover-board(7)` says.
const BOARD: &str = "\
A microcontroller on a serial port, with one line to the reset input of its host. The daemon feeds it \
and says with each feed how the services are; when the feed stops, comes too early, or says that the \
host is not worth keeping, the board pulses reset, waits for the host to boot, and counts. Past its \
budget it holds: it pulses no more, switches its second line, and waits for a person.

It decides by the same rules as giveover(1): board.policy in giveover.toml(5) has the timeout, the grace \
for a boot, and how many resets in which window.

`giveover board pair` makes a key and gives it to a board. `board test` shows that feeding, arming and \
the lines work before anything depends on them. `board arm` and `disarm --for` begin and end its guard; \
`confirm` tells it that a boot was good; `status` and `log` show what it knows. `giveover help board` \
has them all.

What is not a board of ours but resets the host when it is not fed, /dev/watchdog or a USB stick, is \
board.kind = linux or stick.";

fn itself() -> Result<String, Stop> {
    let mut text = rendered(command())?;
    let mut more = Roff::new();
    section(&mut more, "Verbs", OVERVIEW);
    section(&mut more, "Exit status", exit::TABLE);
    section(&mut more, "See also", SEE);
    text += &more.render();
    Ok(text)
}

fn of_verb(words: &[String]) -> Result<String, Stop> {
    let mut all = command();
    all.build();
    let mut found = &all;
    for word in words {
        let next = found.find_subcommand(word);
        found = next.ok_or_else(|| other::unknown(&words.join(" ")))?;
    }
    let name = format!("giveover-{}", words.join("-"));
    rendered(found.clone().display_name(name))
}

fn rendered(command: clap::Command) -> Result<String, Stop> {
    let mut page = Vec::new();
    Page::new(command).manual("Giveover").render(&mut page).map_err(Stop::from)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn configuration() -> String {
    let mut page = titled("giveover.toml", "5", "the configuration of giveover(1)");
    for table in schema::tables() {
        let name = if table.name.is_empty() { "Top level" } else { table.name };
        page.control("SH", [name]);
        page.text([roman(table.about)]);
        for key in table.keys {
            page.control("TP", []);
            page.text([bold(key.name), roman(format!(" = {}", key.takes))]);
            let default = match key.default {
                "" => String::new(),
                default => format!(" (default: {default})"),
            };
            page.text([roman(format!("{}{default}", key.about))]);
        }
    }
    section(&mut page, "See also", SEE);
    page.render()
}

fn board() -> String {
    let mut page = titled("giveover-board", "7", "the board that resets its host");
    page.control("SH", ["Description"]);
    for paragraph in BOARD.split("\n\n") {
        page.control("PP", []);
        page.text([roman(paragraph.replace('\n', " "))]);
    }
    section(&mut page, "See also", SEE);
    page.render()
}

fn titled(name: &str, number: &str, about: &str) -> Roff {
    let mut page = Roff::new();
    let version = concat!("giveover ", env!("CARGO_PKG_VERSION"));
    page.control("TH", [name, number, "", version, "Giveover"]);
    page.control("SH", ["Name"]);
    page.text([roman(format!("{name} - {about}"))]);
    page
}

/// A section whose lines stay as they are.
fn section(page: &mut Roff, title: &str, text: &str) {
    page.control("SH", [title]);
    page.control("nf", []);
    page.text(text.lines().map(|line| roman(format!("{line}\n"))).collect::<Vec<_>>());
    page.control("fi", []);
}
