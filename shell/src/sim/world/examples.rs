//! Ready scenarios, each a file of `shell/scenarios`.

/// A ready scenario.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! examples {
    ($($name:literal $about:literal,)*) => {
        /// All of them.
        pub const EXAMPLES: &[Example] = &[$(Example {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        },)*];
    };
}

examples! {
    "refused" "one complete failure, one restart",
    "halves" "two late answers are one failure; a third, much later, is not",
    "crash-loop" "a process that always dies: restarts, then the giveover",
    "denied" "a giveover that nobody takes, and the service starts afresh",
    "leak" "a service that gets slow until it is restarted",
    "start-fails" "a start that fails asks for giveover at once",
    "stop-fails" "a stop that fails: nothing is started beside what may still run",
    "held" "a person holds a service through an upgrade",
    "needs" "a service that waits for the database it needs",
    "network-cut" "our own network is cut: nobody is restarted for it",
    "host-budget" "everything fails at once, and the host's budget holds",
    "daemon-crash" "the daemon is killed in a restart, and remembers",
    "host-hang" "a host that hangs is reset by its board, until the budget is spent",
    "gateway" "a year of a remote gateway, drawn from rates",
    "takeover" "three nodes: the active loses its power, and a standby follows",
    "watchdog" "the experiments of the pgpool-II document, one after the other",
    "one-way" "a link that is cut one way only: nothing moves",
    "bad-link" "a day of lost, doubled and late frames: never two active",
    "moving" "services that run where a pair is active: stopped on one, started on the other",
    "pool" "members behind a balancer: one fails, all fail, and our own network is cut",
    "pair" "a month of two hosts and a service, drawn from rates",
    "flapping" "a service between ok and slow: weights, not runs, decide",
}
