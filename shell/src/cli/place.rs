//! Where files and sockets are, and telling a file from a service.

use std::path::{Path, PathBuf};

use super::console::Surroundings;
use super::exit::Stop;

/// The configuration of the system's daemon.
pub const CONFIGURATION: &str = "/etc/giveover/giveover.toml";

const SYSTEM: &str = "/run/giveover";
const SOCKET: &str = "control.sock";

/// The socket a client asks: the one it was told, else the person's own daemon's if it has one,
/// else the system's.
#[must_use]
pub fn socket_to_ask(told: Option<&Path>, around: &Surroundings) -> PathBuf {
    if let Some(told) = told.or(around.socket.as_deref()) {
        return told.to_path_buf();
    }
    // RUNTIME_DIRECTORY is that of whichever unit we run in: ours only if the socket is there.
    let unit = around.runtime.as_ref().map(|dir| dir.join(SOCKET));
    let person = around.person_runtime.as_ref().map(|dir| dir.join("giveover").join(SOCKET));
    let person = person.filter(|_| !around.root);
    let there = [unit, person].into_iter().flatten().find(|path| path.exists());
    there.unwrap_or_else(|| Path::new(SYSTEM).join(SOCKET))
}

/// The socket a daemon listens on: the one it was told, else its unit's directory, the system's
/// for root, the person's own for others.
#[must_use]
pub fn socket_to_listen_on(told: Option<&Path>, around: &Surroundings) -> PathBuf {
    if let Some(told) = told.or(around.socket.as_deref()) {
        return told.to_path_buf();
    }
    let person = around.person_runtime.as_ref().filter(|_| !around.root);
    let directory = match (&around.runtime, person) {
        (Some(unit), _) => unit.clone(),
        (None, Some(person)) => person.join("giveover"),
        (None, None) => PathBuf::from(SYSTEM),
    };
    directory.join(SOCKET)
}

/// The socket for reports, beside the control socket.
#[must_use]
pub fn notify_socket(control: &Path) -> PathBuf {
    control.with_file_name("notify.sock")
}

/// Refuses what is a file or a URL where a service belongs.
///
/// # Errors
/// Usage, with the verb that was probably meant.
pub fn service(name: &str) -> Result<(), Stop> {
    if name.contains("://") {
        let text = format!("`{name}` is a URL, not a service: `giveover probe {name}` asks it");
        return Err(Stop::usage(text));
    }
    if looks_like_file(name) {
        let text = format!("`{name}` is a file, not a service: `giveover check {name}` reads it");
        return Err(Stop::usage(text));
    }
    Ok(())
}

/// Whether `text` can only be a file.
#[must_use]
pub fn looks_like_file(text: &str) -> bool {
    let toml = Path::new(text).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    toml || text.starts_with('/') || text.starts_with("./") || text.starts_with("../")
}

/// Whether `text` could be the name of a service.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.@:".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(allowed)
}

/// The name most like `text` among `names`, if any is like it at all.
#[must_use]
pub fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |name: &&str| strsim::damerau_levenshtein(text, name);
    let best = names.into_iter().min_by_key(near)?;
    (near(&best) <= 2.min(text.len() / 2)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(root: bool) -> Surroundings {
        Surroundings {
            person_runtime: Some("/run/user/1000".into()),
            root,
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_client_that_was_told_asks_there() {
        let surroundings = Surroundings { socket: Some("/b".into()), ..around(false) };
        assert_eq!(socket_to_ask(Some(Path::new("/a")), &surroundings), Path::new("/a"));
        assert_eq!(socket_to_ask(None, &surroundings), Path::new("/b"));
    }

    #[test]
    fn a_client_asks_the_persons_daemon_only_if_there_is_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let own = dir.path().join("giveover");
        let surroundings =
            Surroundings { person_runtime: Some(dir.path().into()), ..Surroundings::default() };
        let system = Path::new("/run/giveover/control.sock");
        assert_eq!(socket_to_ask(None, &surroundings), system);
        std::fs::create_dir(&own).expect("created");
        std::fs::write(own.join(SOCKET), "").expect("written");
        assert_eq!(socket_to_ask(None, &surroundings), own.join(SOCKET));
        let root = Surroundings { root: true, ..surroundings };
        assert_eq!(socket_to_ask(None, &root), system);
    }

    /// A client in another unit inherits that unit's directory.
    #[test]
    fn a_unit_of_others_does_not_lead_astray() {
        let surroundings = Surroundings { runtime: Some("/run/web".into()), ..around(true) };
        let system = Path::new("/run/giveover/control.sock");
        assert_eq!(socket_to_ask(None, &surroundings), system);
        assert_eq!(socket_to_listen_on(None, &surroundings), Path::new("/run/web/control.sock"));
    }

    #[test]
    fn a_daemon_listens_where_its_user_may() {
        let listen = |root| socket_to_listen_on(None, &around(root));
        assert_eq!(listen(true), Path::new("/run/giveover/control.sock"));
        assert_eq!(listen(false), Path::new("/run/user/1000/giveover/control.sock"));
        assert_eq!(notify_socket(&listen(true)), Path::new("/run/giveover/notify.sock"));
    }

    #[test]
    fn files_urls_and_names_are_told_apart() {
        for file in ["a.toml", "./web", "/etc/x", "../web"] {
            assert!(service(file).is_err_and(|stop| stop.to_string().contains("is a file")));
        }
        assert!(service("http://x/").is_err_and(|stop| stop.to_string().contains("is a URL")));
        assert!(service("web").is_ok() && is_name("postgresql@15-main"));
        assert!(!is_name("") && !is_name("a/b") && !is_name(&"x".repeat(65)));
    }

    #[test]
    fn only_what_is_like_it_is_suggested() {
        assert_eq!(nearest("wbe", ["web", "db"]), Some("web"));
        assert_eq!(nearest("mail", ["web", "db"]), None);
        assert_eq!(nearest("", ["web"]), None);
    }
}
