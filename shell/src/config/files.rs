//! The files of one configuration: the one given and those it includes, made one tree.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::io;
use std::path::{Path, PathBuf};

use super::report::Findings;
use super::source::{Place, Source, Sources};
use super::syntax;
use super::tree::{Entry, Node, Table, Value};
use super::values;

/// What was read.
#[derive(Default)]
pub(super) struct Files {
    /// Every text.
    pub(super) sources: Sources,
    /// All of them as one.
    pub(super) root: Table,
    /// The files that were included, in the order they were read.
    pub(super) included: Vec<PathBuf>,
    /// The main file's directory; `None` for a text that is no file.
    pub(super) base: Option<PathBuf>,
}

impl Files {
    /// Reads the file at `path` and what it includes.
    pub(super) fn read(path: &Path, out: &mut Findings) -> Self {
        let mut files = Self::default();
        let name = path.display().to_string();
        let short = path.file_name().map_or(name.clone(), |it| it.to_string_lossy().into_owned());
        let base = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        if let Some(mut root) = files.read_one(path, name, short, None, out) {
            let patterns = root.remove("include");
            files.root = root;
            if let Some(patterns) = patterns {
                files.include(&patterns.node, &base, out);
            }
        }
        files.base = Some(base);
        files
    }

    /// Takes `text`, called `name`, for the only file.
    pub(super) fn of_text(name: &str, text: &str, out: &mut Findings) -> Self {
        let mut files = Self::default();
        let source = Source::new(name.to_owned(), name.to_owned(), text.to_owned());
        files.root = files.parse(source, out);
        if let Some(include) = files.root.remove("include") {
            out.error(include.place, "include: only a file can include others");
        }
        files
    }

    /// Reads the file at `path`, which can include nothing.
    pub(super) fn alone(path: &Path, out: &mut Findings) -> Self {
        let mut files = Self::default();
        let name = path.display().to_string();
        files.root = files.read_one(path, name.clone(), name, None, out).unwrap_or_default();
        files
    }

    fn read_one(
        &mut self,
        path: &Path,
        name: String,
        short: String,
        asked_at: Option<Place>,
        out: &mut Findings,
    ) -> Option<Table> {
        match read_text(path) {
            Ok(text) => Some(self.parse(Source::new(name, short, text), out)),
            Err(why) => {
                let number = self.sources.add(Source::new(name, short, String::new()));
                let asked =
                    asked_at.map(|place| format!("asked for at {}", self.sources.words(place)));
                let finding = out.error(Place::whole(number), why).of_syntax();
                finding.label(asked.unwrap_or_default());
                None
            }
        }
    }

    fn parse(&mut self, source: Source, out: &mut Findings) -> Table {
        let number = self.sources.add(source);
        syntax::parse(&self.sources, number, out)
    }

    fn include(&mut self, patterns: &Node, base: &Path, out: &mut Findings) {
        let Some(patterns) = values::one_or_more("include", patterns, out, |key, node, out| {
            values::word(key, node, out).map(|word| (word, node.place))
        }) else {
            return;
        };
        for (pattern, place) in patterns {
            for short in matches(base, pattern, place, out) {
                let path = base.join(&short);
                if self.included.contains(&path) {
                    continue; // two patterns may match one file
                }
                let name = path.display().to_string();
                let read = self.read_one(&path, name, short, Some(place), out);
                self.included.push(path);
                if let Some(mut table) = read {
                    refuse_nested(&mut table, out);
                    merge(&mut self.root, table, "", &self.sources, out);
                }
            }
        }
    }

    /// Reads the preset `name` kept beside the main file, should there be one.
    pub(super) fn own_preset(
        &mut self,
        name: &str,
        asked_at: Place,
        out: &mut Findings,
    ) -> Option<Table> {
        let short = format!("presets/{name}.toml");
        let path = self.base.as_ref()?.join(&short);
        if !path.exists() {
            return None;
        }
        self.read_one(&path, path.display().to_string(), short, Some(asked_at), out)
    }

    /// Parses a preset that is part of this program.
    pub(super) fn built_in_preset(&mut self, name: &str, text: &str, out: &mut Findings) -> Table {
        let name = format!("preset {name}");
        self.parse(Source::new(name.clone(), name, text.to_owned()), out)
    }
}

fn refuse_nested(table: &mut Table, out: &mut Findings) {
    if let Some(include) = table.remove("include") {
        let message = "include: an included file includes no others";
        out.error(include.place, message).label("name them in the main file");
    }
}

/// Reads a file whole; the error is the message.
fn read_text(path: &Path) -> Result<String, String> {
    let cannot = |why: &io::Error| format!("cannot be read: {}", plain(why));
    let about = std::fs::metadata(path).map_err(|why| cannot(&why))?;
    if !about.is_file() {
        // A pipe would keep us waiting for as long as nobody writes to it.
        return Err("cannot be read: it is not a file".to_owned());
    }
    if about.len() > Source::MOST as u64 {
        return Err(format!("longer than {} MiB, the most there is", Source::MOST >> 20));
    }
    let bytes = std::fs::read(path).map_err(|why| cannot(&why))?;
    String::from_utf8(bytes).map_err(|why| {
        let good = why.utf8_error().valid_up_to();
        let line = why.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8 text")
    })
}

/// An error of the system without its number.
pub(super) fn plain(why: &io::Error) -> String {
    let text = why.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// The files `pattern` stands for, relative to `base`, by name.
fn matches(base: &Path, pattern: &str, place: Place, out: &mut Findings) -> Vec<String> {
    let (dir, last) = pattern.rsplit_once('/').map_or(("", pattern), |(dir, last)| (dir, last));
    if !last.contains(['*', '?']) && !dir.contains(['*', '?']) {
        return vec![pattern.to_owned()];
    }
    if dir.contains(['*', '?']) {
        let message = "include: `*` and `?` only in the last part of a path";
        out.error(place, message);
        return Vec::new();
    }
    let entries = match std::fs::read_dir(base.join(if dir.is_empty() { "." } else { dir })) {
        Ok(entries) => entries,
        // Nothing is there to include yet, as in an empty directory.
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(why) => {
            out.error(place, format!("include: {dir} cannot be read: {}", plain(&why)));
            return Vec::new();
        }
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| fits(last, name)).collect();
    names.sort_unstable();
    let prefix = pattern.strip_suffix(last).unwrap_or_default();
    names.into_iter().map(|name| format!("{prefix}{name}")).collect()
}

/// Whether `name` is one of those `pattern` stands for: `*` any characters, `?` one. Hidden files
/// only where the pattern's dot is written.
fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star = None; // the last star, and how far it has eaten
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => (p, n) = (p + 1, n + 1),
            _ => match &mut star {
                Some((at, eaten)) => {
                    *eaten += 1;
                    (p, n) = (*at + 1, *eaten);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// Puts `from` into `into`: tables become one, any other key may be given only once.
fn merge(into: &mut Table, from: Table, path: &str, sources: &Sources, out: &mut Findings) {
    let mut places: HashMap<String, usize> =
        into.0.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
    for entry in from.0 {
        let slot = match places.entry(entry.key.clone()) {
            Slot::Vacant(slot) => {
                slot.insert(into.0.len());
                into.0.push(entry);
                continue;
            }
            Slot::Occupied(slot) => slot,
        };
        let Some(first) = into.0.get_mut(*slot.get()) else { continue };
        let path =
            if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        match (&mut first.node.value, entry) {
            (Value::Table(first), Entry { node: Node { value: Value::Table(table), .. }, .. }) => {
                merge(first, table, &path, sources, out);
            }
            (_, second) => {
                let label = format!("first given at {}", sources.words(first.place));
                let message = format!("key `{path}` is given twice");
                out.error(second.place, message).label(label);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_stand_for_names() {
        for (pattern, name) in [
            ("*.toml", "a.toml"),
            ("*", "a"),
            ("a?c", "abc"),
            ("*a*b*", "xxaxxbxx"),
            ("?.toml", "ü.toml"),
            (".*", ".hidden"),
            ("a*", "a"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*.toml", "a.toml~"), ("*", ".hidden"), ("a?", "a"), ("", "a"), ("b*", "ab")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
        let (pattern, name) = ("*a".repeat(50), "a".repeat(200) + "b");
        assert!(!fits(&pattern, &name));
    }
}
