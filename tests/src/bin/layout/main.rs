//! Writes down which functions a waiting daemon and a busy one call, so that the linker can put them
//! side by side (`shell/layout.ld` says why).
//!
//! `cargo xtask layout` runs it on the release build. What it writes stands between two marks in the
//! linker script; the rest of that is written by hand.

mod calls;
mod names;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use calls::called;
use names::Names;

const BEGIN: &str = "/* From here to the next mark: written by `cargo xtask layout`. */\n";
const END: &str = "/* To here. */\n";

/// Long enough for the first probe of a service that is probed once an hour.
const IDLE: Duration = Duration::from_secs(5);
/// The demonstration ends by itself in a third of that.
const DEMO: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [program, script] = args.as_slice() else {
        eprintln!("layout GIVEOVER SCRIPT");
        return ExitCode::from(2);
    };
    match write(program, script) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("layout: {why}");
            ExitCode::FAILURE
        }
    }
}

fn write(program: &Path, script: &Path) -> Result<String, String> {
    let text =
        fs::read_to_string(script).map_err(|error| format!("{}: {error}", script.display()))?;
    let names = Names::of(program)?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let config = dir.path().join("giveover.toml");
    let table = format!("{{ kind = \"tcp\", address = \"{address}\" }}");
    let service = format!("allow = [\"tcp-only\"]\ncheck.port = {table}\n");
    let policy = "[policy.default]\nthorough_probe_interval = \"1h\"\n";
    fs::write(&config, format!("{policy}[service.s]\n{service}"))
        .map_err(|error| error.to_string())?;
    let run = |more: &[&Path], limit| {
        let mut words: Vec<OsString> = vec![program.into(), "run".into()];
        words.extend(more.iter().map(|word| word.as_os_str().into()));
        for (option, file) in [("--state", "state"), ("--socket", "socket")] {
            words.extend([option.into(), dir.path().join(file).into()]);
        }
        called(&words, names.addresses(), limit)
    };
    println!("a daemon that waits, for {} s", IDLE.as_secs());
    let waits = {
        let socket = dir.path().join("socket");
        // Nobody waits for long without being asked whether he is there.
        let asks = thread::spawn(move || connect_once(&socket));
        let waits = names.patterns(&run(&[&config], IDLE)?);
        asks.join().map_err(|_| "whoever asks it died")?.map_err(|error| error.to_string())?;
        waits
    };
    println!("a daemon that plays its demonstration");
    let mut busy = names.patterns(&run(&[Path::new("--demo")], DEMO)?);
    busy.retain(|pattern| !waits.contains(pattern));
    let lists = format!("{}{}", list("waits", &waits), list("acts", &busy));
    fs::write(script, between_marks(&text, &lists)?).map_err(|error| error.to_string())?;
    Ok(format!(
        "{}: {} names that wait, {} more that act",
        script.display(),
        waits.len(),
        busy.len()
    ))
}

/// Connects to a daemon that begins, and leaves at once.
fn connect_once(socket: &Path) -> io::Result<()> {
    let until = Instant::now() + IDLE;
    loop {
        match UnixStream::connect(socket) {
            Err(_) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            done => return done.map(drop),
        }
    }
}

/// One output section of these functions, ahead of everything not named before.
fn list(section: &str, patterns: &BTreeSet<String>) -> String {
    let lines: String = patterns.iter().map(|name| format!("    *(.text.{name})\n")).collect();
    format!("SECTIONS\n{{\n  .text.{section} :\n  {{\n{lines}  }}\n}}\nINSERT BEFORE .text;\n")
}

fn between_marks(text: &str, lists: &str) -> Result<String, String> {
    let cut = text.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = cut.ok_or("the script has not both marks")?;
    Ok(format!("{head}{BEGIN}{lists}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, between_marks};

    #[test]
    fn what_stands_outside_the_marks_stays() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(between_marks(&text, "new\n"), Ok(format!("a\n{BEGIN}new\n{END}b\n")));
        assert!(between_marks("no marks", "new").is_err());
    }
}
