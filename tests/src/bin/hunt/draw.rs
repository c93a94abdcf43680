//! Worlds drawn by chance: as a scenario file in pieces, so that pieces can be left out again.

use giveover::config::scenario::{Form, load_form_str};
use giveover::config::world::{MemberDoes, NodeDoes, Verb, World};
use giveover::sim::world::Random;

/// A scenario file in pieces: the head is needed, each of the others may go.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) length_s: u64,
    pub(crate) head: String,
    pub(crate) pieces: Vec<String>,
}

impl Draft {
    /// The world that `seed` stands for.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        if r.percent(15) {
            return Self::nodes(seed, r);
        }
        let length_s = 300 + r.below(1200);
        let services = 1 + r.below(3);
        let board = r.percent(40);
        let answers = [
            "\"accept\"",
            "\"deny\"",
            "{ not_now_until = \"9m\" }",
            "\"abort_stopped\"",
            "\"abort_running\"",
            "\"unproven\"",
            "{ accept_from = \"6m\" }",
        ];
        let mut head = format!(
            "seed = {seed}\n[host]\ntrusted = {}\nactions = {{ count = {}, per = \"10m\" }}\n\
             local_fault = {{ share = \"50%\", least = {}, within = \"1m\" }}\n\
             boot_takes = [\"2s\", \"20s\"]\n[giveover]\nanswer = {}\ntakes = [\"0s\", \"{}s\"]\n",
            r.below(2),
            3 + r.below(20),
            1 + r.below(3),
            answers[r.below(answers.len() as u64) as usize],
            r.below(4)
        );
        for number in 0..services {
            head += &service(number, board, r);
        }
        if board {
            let (timeout, grace) = (8 + r.below(20), 10 + r.below(40));
            let count = r.below(4);
            let window = (count * (timeout + grace)).max(60) + 60 + r.below(600);
            head += &format!(
                "[board]\ntimeout = \"{timeout}s\"\nboot_grace = \"{grace}s\"\nconfirm_after = \
                 \"{}s\"\ngiveover = \"{}\"\npolicy = {{ retry_count = {count}, retry_interval = \
                 \"{window}s\" }}\n",
                5 + r.below(60),
                ["alarm", "none", "off", "cycle"][r.below(4) as usize]
            );
        }
        let pool = r.percent(20).then(|| Pool::draw(r));
        head += &pool.as_ref().map_or_else(String::new, Pool::text);
        let faults = 3 + r.below(14);
        let mut pieces: Vec<String> =
            (0..faults).map(|_| fault(length_s, services, board, r)).collect();
        for _ in 0..r.below(4) {
            pieces.push(close_behind(length_s, services, r));
        }
        if let Some(pool) = &pool {
            let faults = 3 + r.below(10);
            pieces.extend((0..faults).map(|_| pool.fault(length_s, r)));
        }
        if r.percent(50) {
            let service = r.below(services);
            pieces.push(format!(
                "[[fault]]\nevery = \"{}s\"\nservice = \"s{service}\"\ndoes = \"{}\"\n",
                10 + r.below(50),
                ["die", "refuse", "hang"][r.below(3) as usize]
            ));
        }
        Self { length_s, head, pieces }
    }

    /// Nodes and what is between them, under rules that never make two holders.
    fn nodes(seed: u64, r: &mut Random) -> Self {
        let length_s = 60 + r.below(240);
        let quorum = ["majority", "majority", "majority", "stay", "fence"][r.below(5) as usize];
        let count = if quorum == "majority" { 2 + r.below(4) } else { 2 };
        let mut head = format!("seed = {seed}\n[cluster]\nquorum = \"{quorum}\"\n");
        if quorum == "majority" && count > 2 && r.percent(40) {
            head += &format!("witnesses = [\"n{}\"]\n", count - 1);
        }
        let share = |r: &mut Random| ["0%", "0%", "1%", "5%", "20%"][r.below(5) as usize];
        let most = 2 + r.below(400);
        head += &format!(
            "[link]\ndelay = [\"1ms\", \"{most}ms\"]\nloss = \"{}\"\nduplicate = \"{}\"\nreorder = \
             \"{}\"\nreorder_by = [\"100ms\", \"12s\"]\nburst = \"0.2%\"\nburst_lasts = [\"1s\", \"15s\"]\n",
            share(r),
            share(r),
            share(r)
        );
        for node in 0..count {
            let drift = [0, 0, 25_000, -25_000][r.below(4) as usize];
            let starts = r.below(30_000);
            head += &format!("[node.n{node}]\nstarts = \"{starts}ms\"\ndrift = \"{drift}ppm\"\n");
        }
        let moving = if r.percent(50) { 1 + r.below(2) } else { 0 };
        if moving > 0 {
            let names: Vec<String> = (0..moving).map(|number| format!("\"s{number}\"")).collect();
            head += &format!("[group.g]\nservices = [{}]\n", names.join(", "));
        }
        for number in 0..moving {
            head += &service(number, false, r);
        }
        let faults = 2 + r.below(12) + 3 * moving;
        let pieces = (0..faults).map(|_| {
            let (at, lasts) = (r.below(length_s * 1000), 100 + r.below(30_000));
            if moving > 0 && r.percent(35) {
                return fault(length_s, moving, false, r);
            }
            let (one, other) = (r.below(count), r.below(count));
            let what = if one != other && r.percent(50) {
                let does = ["cut", "cut_one_way"][r.below(2) as usize];
                format!("link = [\"n{one}\", \"n{other}\"]\ndoes = \"{does}\"")
            } else {
                let words = NodeDoes::WORDS;
                let does = words[r.below(words.len() as u64) as usize];
                format!("node = \"n{one}\"\ndoes = \"{does}\"")
            };
            format!("[[fault]]\nat = \"{at}ms\"\n{what}\nfor = \"{lasts}ms\"\n")
        });
        Self { length_s, head, pieces: pieces.collect() }
    }

    /// The whole file.
    pub(crate) fn text(&self) -> String {
        format!("length = \"{}s\"\n{}{}", self.length_s, self.head, self.pieces.concat())
    }

    /// The world it describes; `None` for a file that is refused.
    pub(crate) fn world(&self) -> Option<World> {
        match load_form_str("hunt.toml", &self.text()) {
            Ok(Form::Large(world)) => Some(*world),
            _ => None,
        }
    }
}

fn service(number: u64, board: bool, r: &mut Random) -> String {
    let interval = [1, 2, 5, 10][r.below(4) as usize];
    let window = interval * (20 + r.below(60));
    let modes = ["none", "soft", "hard", "restart_only", "log_only"];
    let mode = modes[if r.percent(60) { 1 } else { r.below(5) as usize }];
    let count = ["0", "1", "2", "3", "-1"][r.below(5) as usize];
    let grace = [0, 0, interval * 3][r.below(3) as usize];
    let delays = ["\"0s\"", "[\"0s\", \"5s\"]", "[\"2s\", \"4s\", \"8s\"]", "\"500ms\""];
    let delay = delays[r.below(4) as usize];
    let goes = if board && r.percent(40) {
        "board"
    } else {
        ["command", "command", "none"][r.below(3) as usize]
    };
    let probe = ["0s", "20ms", "300ms"][r.below(3) as usize];
    let takes = ["[\"0s\", \"2s\"]", "\"0s\"", "\"700ms\""];
    let (stop, start) = (takes[r.below(3) as usize], takes[r.below(3) as usize]);
    let mut text = format!(
        "[service.s{number}]\ngiveover = \"{goes}\"\nprobe_takes = \"{probe}\"\nstop_takes = {stop}\n\
         start_takes = {start}\npolicy = {{ thorough_probe_interval = \"{interval}s\", probe_timeout = \
         \"500ms\", retry_count = {count}, retry_interval = \"{window}s\", start_grace = \"{grace}s\", \
         restart_delay = {delay}, failover_mode = \"{mode}\", stop_timeout = \"2s\" }}\n"
    );
    if number > 0 && r.percent(30) {
        text += "needs = [\"s0\"]\n";
    }
    if r.percent(20) {
        text += "local = true\n";
    }
    if r.percent(25) {
        text += &format!(
            "leaks = {{ after = [\"{}s\", \"{}s\"] }}\n",
            20 + r.below(60),
            90 + r.below(200)
        );
    }
    text
}

/// A service fails, and while something is done about it somebody wants something else: bugs like
/// company.
fn close_behind(length_s: u64, services: u64, r: &mut Random) -> String {
    let (at, later) = (r.below(length_s * 1000), 100 + r.below(6_000));
    let service = r.below(services);
    let fails = ["die", "refuse", "immediate"][r.below(3) as usize];
    let wants = ["hold", "hold", "release", "clear", "restart", "giveover", "die", "fail_start"];
    let wants = wants[r.below(wants.len() as u64) as usize];
    let one = |at: u64, does: &str| {
        format!("[[fault]]\nat = \"{at}ms\"\nservice = \"s{service}\"\ndoes = \"{does}\"\n")
    };
    one(at, fails) + &one(at + later, wants)
}

fn fault(length_s: u64, services: u64, board: bool, r: &mut Random) -> String {
    let at = r.below(length_s * 10) * 100;
    let lasts = |r: &mut Random| match r.below(3) {
        0 => String::new(),
        _ => format!("for = \"{}ms\"\n", 100 + r.below(90) * 1000),
    };
    let mut text = format!("[[fault]]\nat = \"{at}ms\"\n");
    let general = r.below(100);
    if general < 70 {
        let verb = Verb::WORDS[r.below(Verb::WORDS.len() as u64) as usize];
        text += &format!("service = \"s{}\"\ndoes = \"{verb}\"\n", r.below(services));
        match verb {
            "die" | "hold" | "release" | "clear" | "restart" | "giveover" => {}
            "slow" => {
                text +=
                    &format!("weight = {}\n", [1, 10, 25, 34, 50, 99, 100][r.below(7) as usize]);
                text += &lasts(r);
            }
            _ => text += &lasts(r),
        }
        return text;
    }
    let boards = ["reset", "store_fails", "link_lost", "jumper", "clear", "torn", "torn"];
    let (key, word) = match r.below(if board { 12 } else { 10 }) {
        0 | 1 => ("daemon", "crash"),
        2 => ("daemon", "pause"),
        3 => ("host", ["hang", "reboot", "power_cut"][r.below(3) as usize]),
        4 | 5 => ("network", "cut"),
        6 => ("trusted", "silent"),
        7 => ("disk", ["torn", "lost", "full"][r.below(3) as usize]),
        8 | 9 if board => ("host", "hang"),
        8 | 9 => ("clock", "drift"),
        _ => ("board", boards[r.below(boards.len() as u64) as usize]),
    };
    text += &format!("{key} = \"{word}\"\n");
    if key == "clock" {
        text += &format!("by = \"{}ppm\"\n", r.below(100_000));
    }
    text + &lasts(r)
}

/// A pool as it was drawn.
struct Pool {
    members: u64,
    min_members: u64,
    head: String,
}

impl Pool {
    fn draw(r: &mut Random) -> Self {
        let members = 1 + r.below(5);
        let min_members = r.below(members + 1);
        let interval = [1, 2, 5][r.below(3) as usize];
        let (count, of) = (1 + r.below(4), r.below(3));
        let mut head = format!(
            "interval = \"{interval}s\"\nrise = {}\nfall = {{ count = {count}, of = {} }}\n",
            1 + r.below(3),
            count + of
        );
        if members > 1 && r.percent(40) {
            head += &format!("backup = [\"m{}\"]\n", members - 1);
        }
        if r.percent(50) {
            head += "heartbeat = \"3s\"\n";
        }
        if r.percent(40) {
            head += "busy = { from = \"80%\", until = \"60%\" }\n";
        }
        if r.percent(40) {
            head += "none_left = true\n";
        }
        Self { members, min_members, head }
    }

    fn text(&self) -> String {
        let names: Vec<String> = (0..self.members).map(|it| format!("\"m{it}\"")).collect();
        let (names, floor) = (names.join(", "), self.min_members);
        format!("[pool.p]\nmembers = [{names}]\nmin_members = {floor}\n{}", self.head)
    }

    fn fault(&self, length_s: u64, r: &mut Random) -> String {
        let words = MemberDoes::WORDS;
        let does = words[r.below(words.len() as u64) as usize];
        let (at, member) = (r.below(length_s * 1000), r.below(self.members));
        let lasts = match r.below(4) {
            0 => String::new(),
            _ => format!("for = \"{}ms\"\n", 500 + r.below(120_000)),
        };
        format!("[[fault]]\nat = \"{at}ms\"\nmember = \"p/m{member}\"\ndoes = \"{does}\"\n{lasts}")
    }
}
