//! `cargo xtask sim-board`: a board in QEMU joined to a real `giveover run` and a host that hangs
//! when it is told to, for a person to watch.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::board;
use crate::child;
use crate::emulated::Emulated;
use crate::suggest;
use crate::workspace::{cargo, show, target_dir};

const HELP: &str = "\
cargo xtask sim-board [--script demo]

Runs the board lm3s6965evb in QEMU and a daemon that feeds it, pairs the two, and prints each edge of
the board's lines with its time.
  --script demo   the whole story unattended, in less than two minutes: the host is fed, hangs, is
                  reset, boots and is confirmed, until the budget is spent and the line is held.
                  Exit 0 if all of it was seen.
Without it the two are left to you, with the words to try; Ctrl-C ends them.
";

/// How long one step of the story may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The resets of the configuration below.
const BUDGET: usize = 3;

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let demo = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        [] => false,
        ["--script", "demo"] => true,
        ["--script", other] => return suggest::usage("script", other, ["demo"].into_iter()),
        ["--script"] => return suggest::usage("script", "", ["demo"].into_iter()),
        [first, ..] => return suggest::usage("option", first, ["--script"].into_iter()),
    };
    match World::join().and_then(|mut world| if demo { world.story() } else { world.stay() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The edges of the lines so far.
type Seen = Arc<Mutex<Vec<String>>>;

struct World {
    board: Emulated,
    seen: Seen,
    program: PathBuf,
    dir: Dir,
    daemon: Option<Daemon>,
}

impl World {
    /// The board, paired, and no daemon yet.
    fn join() -> Result<Self, String> {
        child::run(&mut cargo(["build", "--package", "giveover", "--bin", "giveover"]))?;
        let lm3s = board::named("lm3s6965evb").ok_or("no such board")?;
        let mut board = Emulated::start(lm3s)?;
        let seen = Seen::default();
        let (edges, into) = (board.edges().ok_or("no trace")?, Arc::clone(&seen));
        thread::spawn(move || {
            edges.each(|seconds, what| {
                tell(seconds, &format!("LINE    {what}"));
                into.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
            });
        });
        let program = target_dir().join("debug").join("giveover");
        let world = Self { board, seen, program, dir: Dir::new()?, daemon: None };
        world.say(&format!("a board in QEMU on {}", world.board.port));
        let (key, config) = (world.dir.path("board.key"), world.dir.path("giveover.toml"));
        let text = format!(
            "[board]\nport = \"{}\"\nkey = \"{}\"\ntimeout = \"4s\"\nboot_grace = \"6s\"\n\
             confirm_after = \"1s\"\n\
             policy = {{ retry_count = {BUDGET}, retry_interval = \"1h\" }}\n",
            world.board.port,
            key.display()
        );
        fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
        let said = world.until("the board to take a key", |world| {
            let mut pair = Command::new(&world.program);
            pair.args(["board", "pair", "--port", &world.board.port, "--key"]).arg(&key);
            let output = pair.output().ok().filter(|output| output.status.success())?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        })?;
        world.say(&format!("giveover board pair: {said}"));
        Ok(world)
    }

    /// Everything that can happen to a host whose daemon hangs.
    fn story(&mut self) -> Result<(), String> {
        self.boot()?;
        self.say("fed in time for 10 s: the line stays as it is");
        thread::sleep(Duration::from_secs(10));
        self.no_more_than(0)?;
        for number in 1..=BUDGET {
            self.hang(number)?;
            self.until("the line to be held", |world| (world.held() >= number).then_some(()))?;
            self.until("the line to be released", |world| world.released())?;
            self.say(&format!("reset {number} of {BUDGET}: the host boots, within its grace"));
            thread::sleep(Duration::from_secs(2));
            self.boot()?;
            self.until("a confirmed boot", |world| world.logged("this boot is confirmed"))?;
            // What is confirmed is not forgotten: it counts for as long as the window is.
            self.no_more_than(number)?;
        }
        self.hang(BUDGET + 1)?;
        self.until("the second line", |world| (world.count("second line held") > 0).then_some(()))?;
        self.say("the budget is spent: the line is left alone, and the alarm is on");
        self.boot_unguarded()?;
        self.no_more_than(BUDGET)?;
        self.say("and so it stays until a person comes: giveover board clear, or the jumper");
        Ok(())
    }

    /// Leaves both to a person.
    fn stay(&mut self) -> Result<(), String> {
        self.boot()?;
        let socket = self.dir.path("control.sock");
        show(&format!(
            "\nto try, from another terminal:\n\
             \x20 {program} board status --socket {socket}\n\
             \x20 {program} board log --socket {socket}\n\
             \x20 kill -STOP {pid}   # the host hangs: a pulse after 4 s\n\
             \x20 kill -CONT {pid}   # and is back\n\n",
            program = self.program.display(),
            socket = socket.display(),
            pid = self.daemon.as_ref().map_or(0, |daemon| daemon.0.id()),
        ));
        self.board.end()
    }

    /// A daemon starts as it does when a host has booted, and the board is armed.
    fn boot(&mut self) -> Result<(), String> {
        self.start()?;
        self.until("the board to be armed", |world| world.stands("armed"))?;
        self.say("giveover run: the board is armed, and fed each second");
        Ok(())
    }

    /// The same where the board does not guard any more.
    fn boot_unguarded(&mut self) -> Result<(), String> {
        self.start()?;
        self.until("the board to say so", |world| world.stands("line_held"))?;
        for line in self.ask(&["board", "status"]).unwrap_or_default().lines() {
            show(&format!("{:14}{line}\n", ""));
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), String> {
        self.daemon = None; // what was there went down with the host
        let (config, state) = (self.dir.path("giveover.toml"), self.dir.path("state"));
        let mut command = Command::new(&self.program);
        command.arg("run").arg(config).arg("--state").arg(state);
        command.arg("--socket").arg(self.dir.path("control.sock")).env_remove("NOTIFY_SOCKET");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("giveover: {error}"))?;
        let (log, begun) = (child.stderr.take(), self.board.begun());
        let said = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&said);
        if let Some(log) = log {
            thread::spawn(move || {
                for line in BufReader::new(log).lines().map_while(Result::ok) {
                    // The time of day is one too many.
                    let what = line.split_once(' ').map_or(line.as_str(), |(_, rest)| rest);
                    tell(begun.elapsed().as_secs_f64(), &format!("daemon  {what}"));
                    let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                    into.push_str(what);
                    into.push('\n');
                }
            });
        }
        self.daemon = Some(Daemon(child, said));
        Ok(())
    }

    /// The host stands still, from one moment to the next.
    fn hang(&mut self, number: usize) -> Result<(), String> {
        // Two pulses are at least a grace apart, however soon the host hangs again.
        thread::sleep(Duration::from_secs(4));
        let daemon = self.daemon.as_ref().ok_or("no daemon")?;
        let pid = daemon.0.id().to_string();
        let stopped = Command::new("kill").args(["-STOP", &pid]).status();
        if !stopped.is_ok_and(|status| status.success()) {
            return Err(format!("kill -STOP {pid} failed"));
        }
        self.say(&format!("kill -STOP: the host hangs, for time {number}"));
        Ok(())
    }

    /// Whether the daemon under way has said so.
    fn logged(&self, words: &str) -> Option<()> {
        let said = self.daemon.as_ref()?.1.lock().ok()?;
        said.contains(words).then_some(())
    }

    fn stands(&self, state: &str) -> Option<()> {
        let doc = self.ask(&["board", "status", "--json"])?;
        doc.contains(&format!("\"state\":\"{state}\"")).then_some(())
    }

    fn ask(&self, words: &[&str]) -> Option<String> {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--socket").arg(self.dir.path("control.sock"));
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether the last that the reset line did was to be released.
    fn released(&self) -> Option<()> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = seen.iter().rev().find(|edge| edge.starts_with("reset line"))?;
        last.ends_with("released").then_some(())
    }

    fn held(&self) -> usize {
        self.count("reset line held")
    }

    fn count(&self, edge: &str) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| *seen == edge).count()
    }

    fn no_more_than(&self, pulses: usize) -> Result<(), String> {
        match self.held() {
            held if held == pulses => Ok(()),
            held => Err(format!("{held} pulses, and {pulses} were due")),
        }
    }

    fn until<T>(&self, what: &str, done: impl Fn(&Self) -> Option<T>) -> Result<T, String> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(done) = done(self) {
                return Ok(done);
            }
            thread::sleep(Duration::from_millis(100));
        }
        let log = self.daemon.as_ref().map(|daemon| daemon.1.lock().map(|said| said.clone()));
        Err(format!("waited for {what}\n{}", log.and_then(Result::ok).unwrap_or_default()))
    }

    fn say(&self, what: &str) {
        tell(self.board.begun().elapsed().as_secs_f64(), what);
    }
}

fn tell(seconds: f64, what: &str) {
    show(&format!("{seconds:>9.3} s  {what}\n"));
}

/// A daemon and what it has said; it ends with us, whether it stands still or not.
struct Daemon(Child, Arc<Mutex<String>>);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory of ours that goes when we do.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("giveover-sim-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
