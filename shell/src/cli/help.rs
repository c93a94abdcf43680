//! `giveover help`

use clap::Args;

use super::exit::{self, Exit, Stop};
use super::session::Session;
use super::{json, other, place};
use crate::config::{schema, warning};
use crate::message::Event;
use crate::report::table::{WIDTH, wrap};

/// What `giveover`, `giveover --help` and `giveover help` print.
pub(super) const OVERVIEW: &str = "\
Giveover keeps services running: it probes them, restarts them within a budget, and gives them
over when the budget is spent. It remembers why, and can be asked.

  run [FILE]                   watch the services of a configuration; --demo shows how
  check [FILE]                 everything that is wrong with a configuration, and what it leads to
  preset [NAME]                what a preset stands for
  import pgpool FILE           a pgpool.conf's watchdog section in our words
  simulate FILE…               run scenarios in virtual time
  replay JOURNAL [--with FILE] what was recorded once more, also under another policy
  tune JOURNAL…                how soon policies act, and how often for nothing
  probe TARGET                 probe once: a URL, KIND ADDRESS, or SERVICE[/CHECK]

  status [SERVICE…]            how services are; --watch keeps showing it
  explain SERVICE              why it is so, and what comes next
  history SERVICE              what happened to it
  events [SERVICE…]            what happened; -f goes on
  wait SERVICE… --for STATUS   until it is so

  start|stop|restart SERVICE…  at no cost to the budget
  hold SERVICE… [--for 1h]     leave it as it lies: probed and shown, nothing counts
  release SERVICE…             end a hold
  clear SERVICE…               forget failures and restarts
  giveover SERVICE             hand it over (give)
  monitor stop|start SERVICE…  end or begin monitoring while it runs on
  notify SERVICE WHAT          report that it died, failed or is well
  reload [--dry-run]           read the configuration again
  agent TO --name NAME         send heartbeats, load and work units to a monitor
  board status|test|pair|…     the board that resets this host
  pool list|drain|enable|…     members behind a balancer
  node status|switch           the nodes, and which of them is active
  witness [FILE]               run a node that only votes
  key new PATH                 make a key for nodes or agents to share

  help VERB|KIND|EVENT|WARNING what it means; `help exit` for exit statuses

Every verb takes --json, --socket PATH (GIVEOVER_SOCKET), --color auto|always|never (NO_COLOR).
Durations are 250ms, 30s, 1h30m, 7d; times on screens are UTC.
";

/// Explain a verb, a kind of check, an event, a warning or the exit statuses
#[derive(Debug, Args)]
pub(super) struct Help {
    /// A verb, a kind of check, an event's or warning's name, or `exit`
    #[arg(value_name = "NAME")]
    words: Vec<String>,
}

pub(super) fn run(verb: &Help, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let text = match verb.words.as_slice() {
        [] => String::from(OVERVIEW),
        [word] => about(word)?,
        words => of_verb(words).ok_or_else(|| other::unknown(&words.join(" ")))?,
    };
    if session.json {
        let help = serde_json::json!({ "name": verb.words.join(" "), "text": text.trim_end() });
        session.print(&json::line(&help))?;
    } else {
        session.print(&text)?;
    }
    Ok(Exit::DONE)
}

fn about(word: &str) -> Result<String, Stop> {
    if word == "exit" {
        return Ok(String::from(exit::TABLE));
    }
    if other::LATER.contains(&word) {
        return Err(Stop::usage(format!("{word}: not in this version")));
    }
    // Some words are a verb and an event: `restart`, `giveover`.
    let verb = of_verb(&[String::from(word)]);
    let texts = [verb, schema::kind_text(word), of_event(word), warning::explain(word)];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.is_empty() { Err(unknown(word)) } else { Ok(texts.join("\n")) }
}

fn of_verb(words: &[String]) -> Option<String> {
    let mut command = super::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        found = found.find_subcommand_mut(word)?;
    }
    Some(found.render_help().to_string())
}

fn of_event(word: &str) -> Option<String> {
    let event = Event::from_word(word)?;
    let level = event.level().word();
    let text = format!("event {word} ({level}): {}", event.about());
    Some(wrap(&text, WIDTH).join("\n") + "\n")
}

fn unknown(word: &str) -> Stop {
    let command = super::command();
    let verbs = command.get_subcommands().map(|verb| String::from(verb.get_name()));
    let events = Event::ALL.iter().map(|event| String::from(event.word()));
    let names: Vec<String> = verbs
        .chain(events)
        .chain(warning::names().chain(schema::KINDS).map(String::from))
        .collect();
    let near = place::nearest(word, names.iter().map(String::as_str));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Stop::usage(format!("nothing is called `{word}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_has_every_verb_and_fits_the_screen() {
        for verb in super::super::command().get_subcommands() {
            let name = verb.get_name();
            let shown = OVERVIEW.contains(&format!("  {name} "))
                || OVERVIEW.contains(&format!("|{name}"))
                || OVERVIEW.contains(&format!("  {name}|"));
            assert_eq!(shown, !verb.is_hide_set(), "{name}");
        }
        for line in OVERVIEW.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn every_event_is_explained_within_the_screen() {
        for event in Event::ALL {
            let text = about(event.word()).expect("explained");
            assert!(text.contains(&format!("event {} (", event.word())));
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        }
    }

    #[test]
    fn every_kind_of_check_is_explained_within_the_screen() {
        for kind in schema::KINDS {
            let text = about(kind).expect("explained");
            assert!(text.contains(&format!("kind {kind}: ")), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }

    #[test]
    fn every_verb_has_a_text_of_its_own() {
        for verb in super::super::command().get_subcommands() {
            let text = about(verb.get_name()).expect("explained");
            let usage = format!("Usage: giveover {}", verb.get_name());
            assert!(text.contains(&usage), "{text}");
            assert!(!text.starts_with("Which services"), "{text}");
        }
        let nested = [String::from("monitor"), String::from("stop")];
        assert!(of_verb(&nested).is_some_and(|text| text.contains("nothing is probed")));
    }

    #[test]
    fn what_nothing_is_called_is_said_with_the_nearest_name() {
        let said = |word| about(word).expect_err("no such name").to_string();
        assert_eq!(said("restrat"), "nothing is called `restrat`; did you mean `restart`?");
        assert_eq!(said("schema"), "schema: not in this version");
        assert_eq!(said("zzzzzz"), "nothing is called `zzzzzz`");
    }
}
