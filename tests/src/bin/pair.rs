//! The source document's experiments 4.1 to 4.6 on three hosts made for it, with a picture of who
//! is active, and the longest outage that a client had in each. `cargo xtask pair` runs it.

use std::io::{IsTerminal as _, Write as _};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use giveover_tests::network::ip;
use giveover_tests::pair::{ADDRESS, NAMES, Pair};
use giveover_tests::server::is_root;

fn main() -> ExitCode {
    if !is_root("networks of our own") {
        return ExitCode::FAILURE;
    }
    println!(
        "Hosts a and b, a witness, and a client that asks {ADDRESS} each 100 ms.\n\
         heartbeat 500 ms, lease 5 s, wait 8 s\n"
    );
    let mut show = Show { pair: Pair::new(), begun: Instant::now(), results: Vec::new() };
    show.play("4.1", "a is started first, b after it", |pair| {
        pair.start(2);
        pair.start(0);
        pair.wait_served(0);
        pair.start(1);
    });
    show.play("4.2", "a third configuration, with another address, is refused", |pair| {
        pair.stop(1);
        let (code, _) = pair.start_with_another_address(1);
        assert_eq!(code, Some(13), "refused by its peer");
        pair.start(1);
    });
    show.play("4.3", "a has the address, and answers", |pair| {
        assert!(pair.lan.has("a", ADDRESS) && !pair.lan.has("b", ADDRESS));
        pair.wait_served(0);
    });
    show.play("4.4", "a is stopped: b takes over", |pair| {
        pair.stop(0);
        pair.wait_served(1);
    });
    show.play("4.5", "a is started again, as a standby", |pair| {
        pair.start(0);
        pair.wait_served(1);
    });
    show.play("4.6", "a reaches b no more: b stays, as the witness hears it", |pair| {
        ip(&mut pair.lan.on("a", "ip"), "route add blackhole 10.0.0.2/32");
        let end = Instant::now() + Duration::from_secs(16); // twice `wait`
        while Instant::now() < end {
            std::thread::park_timeout(Duration::from_millis(100));
        }
        assert!(!pair.lan.has("a", ADDRESS), "one holder");
        pair.wait_served(1);
        ip(&mut pair.lan.on("a", "ip"), "route del blackhole 10.0.0.2/32");
    });
    show.play("more", "b dies: a takes over", |pair| {
        pair.kill(1);
        pair.wait_served(0);
        pair.start(1);
    });
    show.play("more", "a's cable is cut: b takes over", |pair| {
        pair.lan.cable(1, false);
        pair.wait_served(1);
        pair.lan.cable(1, true);
    });
    show.end()
}

struct Show {
    pair: Pair,
    begun: Instant,
    results: Vec<(&'static str, &'static str, Duration)>,
}

impl Show {
    /// Plays one experiment beside its picture.
    fn play(&mut self, number: &'static str, what: &'static str, act: impl FnOnce(&mut Pair)) {
        println!("{number:>4}  {what}");
        let since = Instant::now();
        let hosts = NAMES.map(|name| self.pair.lan.pid(name));
        let picture = Picture::draw(hosts, self.begun);
        act(&mut self.pair);
        picture.end();
        // Before the first holder there is nothing to be without.
        let outage = if number == "4.1" { Duration::ZERO } else { self.pair.longest_outage(since) };
        self.results.push((number, what, outage));
    }

    fn end(self) -> ExitCode {
        println!("\n      longest outage");
        for (number, what, outage) in &self.results {
            println!("{number:>4}  {:>6.2} s  {what}", outage.as_secs_f64());
        }
        let overlap = self.pair.overlap();
        println!("\nboth had the address for {} ms", overlap.as_millis());
        if overlap.is_zero() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A line that is drawn over and over on a terminal; elsewhere one for each change.
struct Picture {
    over: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Picture {
    fn draw(hosts: [u32; 2], begun: Instant) -> Self {
        let (over, ends) = std::sync::mpsc::channel();
        let terminal = std::io::stdout().is_terminal();
        let thread = std::thread::spawn(move || {
            let mut shown = String::new();
            while ends
                .recv_timeout(Duration::from_millis(200))
                .is_err_and(|it| it == std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                let [a, b] = hosts.map(has);
                let mark = |has| if has { "[address]" } else { "         " };
                let picture = format!("a {}   b {}", mark(a), mark(b));
                let time = begun.elapsed().as_secs_f64();
                if terminal {
                    print!("\r      {time:6.1} s  {picture}");
                    let _ = std::io::stdout().flush();
                } else if picture != shown {
                    println!("      {time:6.1} s  {picture}");
                }
                shown = picture;
            }
            if terminal {
                println!();
            }
        });
        Self { over, thread }
    }

    fn end(self) {
        drop(self.over);
        let _ = self.thread.join();
    }
}

/// Whether the host whose network this process holds has the address.
fn has(pid: u32) -> bool {
    let output = Command::new("nsenter")
        .args(["-t", &pid.to_string(), "-n", "ip", "-o", "addr", "show"])
        .output();
    output.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains(&format!(" {ADDRESS}/")))
}
