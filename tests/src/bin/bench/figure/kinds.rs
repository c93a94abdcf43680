//! What a check of each kind costs us, beside those that have figures of their own.

use super::Rounds;
use crate::bed::Bed;
use crate::load::Load;
use crate::measure::counter::Counter;
use crate::measure::target::Target;
use crate::measure::window::{Window, measure, settle};
use crate::peer::Program;
use crate::stats::median;
use crate::table::{Row, Unit, thousands};
use crate::why::Why;
use giveover_tests::oracle::Oracle;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A kind: its name, its check, and how many targets there are for each hundred of `some`.
struct Checked {
    kind: &'static str,
    check: &'static str,
    share: usize,
    counted: Counted,
}

/// Who counts the checks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// The server that answers them.
    Server,
    /// The same, which does not know at which of its addresses it was asked.
    Datagrams,
    /// The agents that are heard, each as often as its check is made.
    Agents,
    /// Nobody: what is due is taken for what was done, if all were well.
    Nobody,
}

const fn served(kind: &'static str, check: &'static str) -> Checked {
    Checked { kind, check, share: 50, counted: Counted::Server }
}

const fn datagrams(kind: &'static str, check: &'static str) -> Checked {
    Checked { kind, check, share: 50, counted: Counted::Datagrams }
}

/// A child of ours looks at this host.
const fn looks(kind: &'static str, check: &'static str) -> Checked {
    Checked { kind, check, share: 10, counted: Counted::Nobody }
}

const KINDS: [Checked; 27] = [
    Checked {
        kind: "ping",
        check: "{ kind = \"ping\", address = \"HOST\" }",
        share: 50,
        counted: Counted::Nobody,
    },
    datagrams("udp", "{ url = \"udp://ADDRESS\", send = \"?\", expect = \"?\" }"),
    datagrams("dns", "\"dns://ADDRESS/example.org\""),
    datagrams("rpc", "{ url = \"rpc://ADDRESS\", program = 100003 }"),
    served("ftp", "\"ftp://ADDRESS\""),
    served("smtp", "\"smtp://ADDRESS\""),
    served("pop3", "\"pop3://ADDRESS\""),
    served("imap", "\"imap://ADDRESS\""),
    served("nntp", "\"nntp://ADDRESS\""),
    served("telnet", "\"telnet://ADDRESS\""),
    served("ldap", "\"ldap://ADDRESS\""),
    served("redis", "\"redis://ADDRESS\""),
    served("mqtt", "\"mqtt://ADDRESS\""),
    served("postgres", "\"postgres://u@ADDRESS/d\""),
    served("database", "{ url = \"postgres://u@ADDRESS/d\", connect_cycle = 5 }"),
    Checked {
        kind: "agent",
        check: "{ url = \"agent://127.0.0.1:PORT/NAME\", interval = \"1s\", units = [\"db\"] }",
        share: 50,
        counted: Counted::Agents,
    },
    served("apache", "{ kind = \"apache\", address = \"ADDRESS\" }"),
    served("tls", "\"tls://ADDRESS\""),
    Checked {
        kind: "https",
        check: "{ url = \"https://ADDRESS/\", verify = false }",
        share: 20,
        counted: Counted::Server,
    },
    served("remote", "\"remote://ADDRESS/web\""),
    looks("path", "\"path:///\""),
    looks("log", "{ url = \"log:///etc/passwd\", pattern = \"PANIC\" }"),
    looks("process", "{ kind = \"process\", name = \"bench\" }"),
    looks("listener", "{ kind = \"listener\", lsnrctl = \"/bin/true\" }"),
    looks("oracle", "{ kind = \"oracle\", oracle_home = \"HOME\", connect_cycle = 5 }"),
    looks("systemd", "\"systemd://NAME.service\""),
    Checked {
        kind: "xfnts",
        check: "{ kind = \"xfnts\", address = \"ADDRESS\", fsinfo = \"/bin/true\" }",
        share: 10,
        counted: Counted::Server,
    },
];

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    KINDS.iter().map(|checked| row(bed, checked)).collect()
}

/// What answers in the place of programs that do not run here.
enum StandIn {
    /// Nothing has to: the real one is asked, or a server of ours.
    None,
    /// For Oracle's `sqlplus`.
    Oracle(Oracle),
    /// For `systemctl`, in this directory.
    Systemctl(PathBuf),
}

/// As systemd would for units that are all well, without a process but the shell.
const SYSTEMCTL: &str = "#!/bin/sh
while [ \"$1\" != -- ]; do shift; done
shift
for unit in \"$@\"; do
    printf 'LoadState=loaded\\nActiveState=active\\nSubState=running\\nResult=success\\n\\n'
done
";

impl StandIn {
    fn of(bed: &Bed, kind: &str) -> Result<Self, Why> {
        match kind {
            "oracle" => {
                let program = bed.exe.with_file_name("oracle");
                if !program.is_file() {
                    return Err(Why::lasting("no stand-in: build the program `oracle`"));
                }
                Ok(Self::Oracle(Oracle::new(&program)))
            }
            "systemd" if !Path::new("/run/systemd/system").exists() => {
                let room = bed.room("systemctl")?;
                let program = room.join("systemctl");
                fs::write(&program, SYSTEMCTL)?;
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
                Ok(Self::Systemctl(room))
            }
            _ => Ok(Self::None),
        }
    }

    /// The kind, and that it was no real one that answered.
    fn label(kind: &str) -> String {
        let real = match kind {
            "oracle" => false,
            "systemd" => Path::new("/run/systemd/system").exists(),
            _ => true,
        };
        if real { kind.to_owned() } else { format!("{kind} (stand-in)") }
    }
}

fn row(bed: &Bed, checked: &Checked) -> Row {
    let count = bed.scale.some * checked.share / 100;
    let rounds = Rounds::run(bed, checked.kind, |program| {
        if program != Program::Ours {
            return Err(Why::lasting("not compared"));
        }
        let mut target = match checked.counted {
            Counted::Agents => Target::agents(bed, count)?,
            _ => Target::speaking(bed, checked.kind)?,
        };
        // An answer comes from the address that the kernel chooses, and must come from the right one.
        let targets = match checked.counted {
            Counted::Datagrams => vec![target.localhost(); count],
            _ => target.addresses(count),
        };
        let stand_in = StandIn::of(bed, checked.kind)?;
        let (check, path) = match &stand_in {
            StandIn::None => (checked.check.to_owned(), None),
            StandIn::Oracle(oracle) => (checked.check.replace("HOME", &oracle.home()), None),
            StandIn::Systemctl(room) => (checked.check.to_owned(), Some(room.clone())),
        };
        let load = Load::Checks { check, targets, path };
        let mut running = program.start(bed, &load)?;
        let mut counter = match checked.counted {
            Counted::Nobody => Counter::Due(count),
            _ => Counter::Requests(&mut target),
        };
        settle(&mut running, &mut counter, load.due_each_second())?;
        let window = measure(&mut running, &mut counter, bed.scale.window)?;
        match running.unwell(bed)? {
            None | Some(0) => Ok(window),
            Some(unwell) => Err(Why::new(format!("{unwell} of {count} were not well"))),
        }
    });
    Row {
        figure: format!(
            "CPU per {} check, {} targets at 1 s",
            StandIn::label(checked.kind),
            thousands(count as f64)
        ),
        unit: Unit::Micros,
        columns: rounds.columns(Window::total_us, rate),
        must: vec![],
        aim: vec![],
    }
}

fn rate(all: &[&Window]) -> String {
    let rates: Vec<f64> = all.iter().map(|window| window.rate()).collect();
    format!("{}/s reached; with children's", thousands(median(&rates).unwrap_or(0.0)))
}
