//! What pgpool-II's watchdog says, character for character: its lines are the legacy text of ours.
//!
//! # Source
//! "pgpool-II 3.2: Watchdog", sections 4 and 5.2.3; its spelling is kept.

use super::Event;

/// A peer that is not up yet. Information, and no error.
pub const CONNECT_REFUSED: &str = "wd_create_send_socket: connect() reports failure (Connection \
                                   refused). You can safely ignore this while starting up.";
/// This node becomes the active.
pub const ESCALATED: &str = "wd_escalation: escalated to master pgpool";
/// And has the address.
pub const HOLDS_ADDRESS: &str = "wd_escalation:  escaleted to delegate_IP holder";
/// It has started.
pub const STARTED: &str = "wd_init: start watchdog";
/// Nodes are watched from now on.
pub const LIFE_CHECK_STARTED: &str = "watchdog: lifecheck started";
/// It is told to stop.
pub const STOP_REQUESTED: &str = "received fast shutdown request";
/// The address is gone.
pub const ADDRESS_DOWN: &str = "wd_IP_down: ifconfig down succeeded";

/// It does not start: no right to change addresses.
pub const NO_PRIVILEGE: &str = "watchdog must be started under the privileged user ID to up/down \
                                virtual network interface.";
/// It starts, with commands that have the right themselves.
pub const SETUID_COMMANDS: &str = "watchdog might call network commands which using sticky bit.";
/// It does not start: no trusted server answers.
pub const NO_TRUSTED_SERVER: [&str; 3] =
    ["wd_init: failed to connect trusted server", INIT_FAILED, MAIN_ERROR];
/// It does not start: somebody has the address.
pub const ADDRESS_EXISTS: [&str; 3] =
    ["wd_init: delegate_IP already exists", INIT_FAILED, MAIN_ERROR];
/// It does not start: every peer refuses it.
pub const REFUSED: [&str; 3] = ["wd_init: failed to start watchdog", INIT_FAILED, MAIN_ERROR];
/// What a peer says that refuses another.
pub const MISMATCH: &str = "wd_set_wd_list: delegate IP mismatch error";
/// It does not start: no address, or no peer.
pub const BAD_CONFIGURATION: [&str; 2] = ["watchdog: wd_check_config failed", MAIN_ERROR];

const INIT_FAILED: &str = "watchdog: wd_init failed";
const MAIN_ERROR: &str = "wd_main error";

/// The watchdog's process, said when it is told to stop.
#[must_use]
pub fn process(pid: u32) -> String {
    format!("watchdog_pid: {pid}")
}

/// A node as the life check sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub host: String,
    /// Its service's port.
    pub port: u16,
    /// Its status: 1 has just started, 2 is a standby, 3 the active, 4 down.
    pub status: u8,
    /// How many more checks of it may fail.
    pub life: u8,
    /// Whether the check passed; `None` where it was not asked.
    pub passed: Option<bool>,
}

/// What one tick of the life check says of its nodes, this one first: each check before its life
/// is lowered by it, and a node that has none left at each tick again. `most` is the life that a
/// node begins with.
#[must_use]
pub fn life_check(nodes: &[Node], most: u8) -> Vec<(Event, String)> {
    let mut lines = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let Some(passed) = node.passed else { continue };
        let (host, port, status, life) = (&node.host, node.port, node.status, node.life);
        let checking = format!("wd_lifecheck: checking pgpool {number} ({host}:{port})");
        lines.push((Event::LifeCheck, checking));
        if passed {
            lines.push((Event::LifeCheck, format!("wd_lifecheck: OK, status: {status}")));
            continue;
        }
        lines.push((Event::LifeCheck, format!("wd_lifecheck: NG, status: {status} life:{life}")));
        if life <= 1 {
            let text = format!(
                "wd_lifecheck: lifecheck failed {most} times. pgpool seems not to be working"
            );
            lines.push((Event::LifeCheckFailed, text));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::{Debug, Level};
    use super::*;

    /// The document's lines, one beside each of ours.
    #[test]
    fn every_text_is_the_documents_byte_for_byte() {
        let document = "\
wd_create_send_socket: connect() reports failure (Connection refused). You can safely ignore this while starting up.
wd_escalation: escalated to master pgpool
wd_escalation:  escaleted to delegate_IP holder
wd_init: start watchdog
watchdog: lifecheck started
watchdog must be started under the privileged user ID to up/down virtual network interface.
wd_init: failed to connect trusted server
watchdog: wd_init failed
wd_main error
wd_init: delegate_IP already exists
watchdog: wd_init failed
wd_main error
wd_init: failed to start watchdog
watchdog: wd_init failed
wd_main error
wd_set_wd_list: delegate IP mismatch error
watchdog: wd_check_config failed
wd_main error
received fast shutdown request
watchdog_pid: 30488
wd_IP_down: ifconfig down succeeded
watchdog might call network commands which using sticky bit.
";
        let mut ours = vec![
            CONNECT_REFUSED,
            ESCALATED,
            HOLDS_ADDRESS,
            STARTED,
            LIFE_CHECK_STARTED,
            NO_PRIVILEGE,
        ];
        ours.extend(NO_TRUSTED_SERVER);
        ours.extend(ADDRESS_EXISTS);
        ours.extend(REFUSED);
        ours.push(MISMATCH);
        ours.extend(BAD_CONFIGURATION);
        let process = process(30488);
        ours.extend([STOP_REQUESTED, &process, ADDRESS_DOWN, SETUID_COMMANDS]);
        let ours: String = ours.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(ours, document);
    }

    fn tick(life: u8, status: u8, passed: bool) -> String {
        let node = |host: &str, status, life, passed| Node {
            host: host.to_owned(),
            port: 9999,
            status,
            life,
            passed: Some(passed),
        };
        let nodes = [node("server1", 3, 3, true), node("server2", status, life, passed)];
        let lines = life_check(&nodes, 3).into_iter().map(|(event, text)| {
            let level = if event == Event::LifeCheck { "DEBUG" } else { "LOG" };
            format!("{level}: {text}\n")
        });
        lines.collect()
    }

    /// Section 5.2.3: both well; then the other one is cut off, tick by tick.
    #[test]
    fn a_life_check_reads_as_the_documents() {
        let own = "DEBUG: wd_lifecheck: checking pgpool 0 (server1:9999)\n\
                   DEBUG: wd_lifecheck: OK, status: 3\n\
                   DEBUG: wd_lifecheck: checking pgpool 1 (server2:9999)\n";
        let dead = "LOG: wd_lifecheck: lifecheck failed 3 times. pgpool seems not to be working\n";
        assert_eq!(tick(3, 2, true), format!("{own}DEBUG: wd_lifecheck: OK, status: 2\n"));
        for (life, status, then) in
            [(3, 2, ""), (2, 2, ""), (1, 2, dead), (0, 4, dead), (0, 4, dead)]
        {
            let line = format!("DEBUG: wd_lifecheck: NG, status: {status} life:{life}\n");
            assert_eq!(tick(life, status, false), format!("{own}{line}{then}"));
        }
    }

    #[test]
    fn a_life_check_is_for_whoever_debugs_and_its_end_for_everybody() {
        assert_eq!(Event::LifeCheck.level(), Level::Debug);
        assert_eq!(Event::LifeCheck.needs_debug(), Debug::Low);
        assert_ne!(Event::LifeCheckFailed.level(), Level::Debug);
        for event in
            [Event::LifeCheck, Event::LifeCheckFailed, Event::Watchdog, Event::WatchdogError]
        {
            assert!(event.is_legacy(), "{event:?}");
        }
        // A peer that is not up yet is information.
        assert_eq!(Event::Watchdog.level(), Level::Info);
        assert_eq!(Event::WatchdogError.level(), Level::Error);
    }
}
