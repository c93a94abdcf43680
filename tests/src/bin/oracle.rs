//! A stand-in for Oracle's `sqlplus` and `lsnrctl`, which nobody may pass on: called by one of these
//! names it reads and prints what that program does, as far as a monitor asks.
//!
//! In `$ORACLE_HOME` the file `mood` says how the database is: `ok`, `idle` (its statistics stand
//! still), `hang`, `die`, `down` (ORA-01034), `error N` (every statement answers ORA-N), `garbage`,
//! `endless`, `slow` (a sign a second); and
//! `listener` how that is: `up`, `down`, `locked`, `hang`, `die`, `garbage`, `endless` or `slow`. What was said to it is in `said`.

use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn main() -> io::Result<()> {
    let mut words = std::env::args();
    let name = words.next().unwrap_or_default();
    let home = PathBuf::from(std::env::var_os("ORACLE_HOME").unwrap_or_default());
    if name.ends_with("lsnrctl") {
        let words: Vec<String> = words.collect();
        std::process::exit(listener(&home, &words));
    }
    let said = File::options().create(true).append(true).open(home.join("said"))?;
    let mut client = Client { home, said, connected: false };
    note(&mut client.said, &format!("begin {}", words.collect::<Vec<_>>().join(" ")))?;
    for line in io::stdin().lock().lines() {
        if !client.line(line?.trim_end())? {
            break;
        }
        io::stdout().flush()?;
    }
    note(&mut client.said, "end")
}

struct Client {
    home: PathBuf,
    said: File,
    connected: bool,
}

impl Client {
    /// Does what a line says. False if it is the last.
    fn line(&mut self, line: &str) -> io::Result<bool> {
        let mut out = io::stdout();
        let word = line.split([' ', ';']).next().unwrap_or_default();
        if let Some(who) = line.strip_prefix("CONNECT ") {
            return self.connect(who).map(|()| true);
        }
        match word {
            "SET" | "" => {}
            "EXIT" => return Ok(false),
            "PROMPT" => writeln!(out, "{}", line.strip_prefix("PROMPT ").unwrap_or_default())?,
            "BEGIN" => note(&mut self.said, "block")?,
            _ if !self.connected => writeln!(out, "SP2-0640: Not connected")?,
            _ => {
                note(&mut self.said, word)?;
                self.statement(word)?;
            }
        }
        Ok(true)
    }

    fn connect(&mut self, who: &str) -> io::Result<()> {
        let mut out = io::stdout();
        let (user, rest) = who.split_once('/').unwrap_or((who, ""));
        let (password, place) = rest.rsplit_once('@').unwrap_or((rest, ""));
        note(&mut self.said, &format!("connect {user} {place}"))?;
        let known = user.is_empty() || password == "\"hush\"";
        match (self.mood().as_str(), known) {
            ("down", _) => writeln!(out, "ERROR:\nORA-01034: ORACLE not available")?,
            (_, false) => {
                writeln!(out, "ERROR:\nORA-01017: invalid username/password; logon denied\n\n")?;
            }
            _ => self.connected = true,
        }
        Ok(())
    }

    fn statement(&mut self, word: &str) -> io::Result<()> {
        let mut out = io::stdout();
        loop {
            let mood = self.mood();
            match mood.split_once(' ').unwrap_or((mood.as_str(), "")) {
                ("hang", _) => std::thread::sleep(Duration::from_millis(10)),
                ("die", _) => std::process::exit(1),
                ("garbage", _) => return out.write_all(b"\xff\0\x1b[2Jwhat?\n"),
                ("endless", _) => out.write_all(b"and so on ")?,
                ("slow", _) => {
                    out.write_all(b".")?;
                    out.flush()?;
                    std::thread::sleep(Duration::from_secs(1));
                }
                ("error", number) => {
                    let number: u32 = number.parse().unwrap_or_default();
                    return writeln!(out, "ERROR at line 1:\nORA-{number:05}: as it was told\n");
                }
                (mood, _) if word == "SELECT" => {
                    let count = self.counter(mood == "ok");
                    return writeln!(out, "giveover-activity {count}");
                }
                _ => return Ok(()),
            }
        }
    }

    fn mood(&self) -> String {
        let mood = fs::read_to_string(self.home.join("mood")).unwrap_or_default();
        mood.trim().to_owned()
    }

    /// Commits so far; somebody works if it is a database at work.
    fn counter(&self, moves: bool) -> u64 {
        let path = self.home.join("counter");
        let count = fs::read_to_string(&path).ok().and_then(|text| text.parse().ok());
        let count = count.unwrap_or(0_u64) + u64::from(moves);
        fs::write(path, count.to_string()).map_or(0, |()| count)
    }
}

fn listener(home: &Path, words: &[String]) -> i32 {
    let ["status", name] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        return 2;
    };
    let mood = || fs::read_to_string(home.join("listener")).unwrap_or_default();
    let said = File::options().create(true).append(true).open(home.join("said"));
    let _ = said.and_then(|mut said| note(&mut said, &format!("listener {}", mood().trim())));
    println!("\nLSNRCTL for Linux: Version 19.0.0.0.0 - Production\n");
    loop {
        match mood().trim() {
            "hang" => std::thread::sleep(Duration::from_millis(10)),
            "down" => {
                println!("TNS-12541: TNS:no listener\n TNS-12560: TNS:protocol adapter error");
                return 1;
            }
            "die" => return 3,
            "garbage" => {
                println!("\u{1b}[2Jwhat?\nTNS-");
                return 0;
            }
            "endless" => loop {
                println!("and so on");
            },
            "slow" => {
                print!(".");
                let _ = io::stdout().flush();
                std::thread::sleep(Duration::from_secs(1));
                continue;
            }
            "locked" => {
                println!("TNS-01169: The listener has not recognized the password");
                return 1;
            }
            _ => {
                println!("Alias                     {name}\nThe command completed successfully");
                return 0;
            }
        }
    }
}

fn note(said: &mut File, line: &str) -> io::Result<()> {
    writeln!(said, "{line}")
}
