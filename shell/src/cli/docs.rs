//! The pages of `shell/docs` that say what `giveover help` says: one text, two places.

use std::fs;
use std::path::Path;

use super::exit;
use crate::config::{schema, warning};
use crate::message::Event;

/// Set, it makes the pages anew instead of comparing them.
const WRITE: &str = "GIVEOVER_WRITE_DOCS";

fn messages() -> String {
    let mut text = String::from(
        "# Messages\n\nMade from what `giveover help NAME` prints. Each edge is one line in the log, with this name in \
         `events`,\n`history` and hooks.\n\n## Events\n\n| event | level | means |\n|---|---|---|\n",
    );
    for event in Event::ALL {
        text += &format!("| `{}` | {} | {} |\n", event.word(), event.level().word(), event.about());
    }
    text += "\n## Warnings of `giveover check`\n";
    for name in warning::names() {
        let about = warning::explain(name).unwrap_or_default();
        let about = about.strip_prefix(&format!("{name}: ")).unwrap_or(&about);
        text += &format!("\n### {name}\n\n{}\n", about.trim_end());
    }
    text + &format!("\n## Exit statuses\n\n```\n{}```\n", exit::TABLE)
}

fn checks() -> String {
    let mut text = String::from(
        "# Kinds of check\n\nMade from what `giveover help KIND` prints. Keys that all have are in \
         `giveover man giveover.toml`;\nwhich server each was tried against is in the README.\n",
    );
    for kind in schema::KINDS {
        let about = schema::kind_text(kind).unwrap_or_default();
        text += &format!("\n## {kind}\n\n```\n{about}```\n");
    }
    text
}

#[test]
fn the_pages_say_what_help_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for (name, text) in [("messages.md", messages()), ("checks.md", checks())] {
        let page = docs.join(name);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&page, &text).expect("written");
        }
        let found = fs::read_to_string(&page).unwrap_or_default();
        assert!(
            found == text,
            "{name} is old: {WRITE}=1 cargo test -p giveover --lib docs makes it anew"
        );
    }
}
