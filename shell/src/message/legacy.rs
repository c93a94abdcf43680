//! The texts of the source documents, character for character, with their arguments.
//!
//! The four status texts are [`giveover_core::monitor::Message`]'s.
//!
//! # Source
//! The sample fault monitor `ORCL.xfnts`. Its format strings stand in the tests below.

/// ERR, before the first probe: there is nothing to probe.
pub const NO_ADDRESS: &str = "No network address resource in resource group.";

/// ERR, when no time is left for the last step of a probe.
pub const PROBE_TIMED_OUT: &str = "Probe timed out.";

/// The limit of a disconnection once all of the probe's time is used up, in seconds.
pub const DISCONNECT_TIMEOUT_S: u64 = 2;

/// INFO, before each probe.
#[must_use]
pub fn probing(port: u16) -> String {
    format!("Probing the service on port: {port}.")
}

/// ERR, when the connection failed.
#[must_use]
pub fn connect_failed(port: u16, service: &str) -> String {
    format!("Failed to connect to port <{port}> of resource <{service}>.")
}

/// ERR, when the disconnection failed.
#[must_use]
pub fn disconnect_failed(port: u16, service: &str) -> String {
    format!("Failed to disconnect to port {port} of resource {service}.")
}

/// Debug, low: the connection has used up all the time. Ends in a space, as it does there.
///
/// `used_s` is what the document passes for "exceeded by": the time used.
#[must_use]
pub fn connect_overran(connect_timeout_s: u64, used_s: u64, disconnect_timeout_s: u64) -> String {
    format!(
        "svc_probe used entire timeout of {connect_timeout_s} seconds during connect operation \
         and exceeded the timeout by {used_s} seconds. Attempting disconnect with timeout \
         {disconnect_timeout_s} "
    )
}

/// Debug, high: the command about to be run.
#[must_use]
pub fn checking_server(command: &str) -> String {
    format!("Checking the server status with {command}.")
}

/// ERR, when the command failed, ran out of time or could not be run.
#[must_use]
pub fn check_command_failed(command: &str) -> String {
    format!("Failed to check server status with command <{command}>")
}

/// The command as the two texts above name it: the document's is a line for a shell.
#[must_use]
pub fn fsinfo_command(fsinfo: &str, host: &str, port: u16) -> String {
    format!("{fsinfo} -server {host}:{port} > /dev/null")
}

/// ERR, of the web servers' monitors: there is nothing to probe.
pub const NO_NETWORK_RESOURCES: &str = "No network resources found for resource.";

/// ERR, of the iPlanet web server's monitor: its mode and ports cannot be found out.
pub const UNPARSABLE_CONFIGURATION: &str = "Unable to parse configuration file.";

/// ERR, of the web servers' monitors, when the connection failed.
#[must_use]
pub fn server_connect_failed(host: &str, port: u16) -> String {
    format!("Failed to connect to {host} port {port}")
}

/// ERR, of the web servers' monitors, when the request could not be sent or the reply not read.
#[must_use]
pub fn communication_failed(host: &str, port: u16, error: &str) -> String {
    format!("Failed to communicate with server {host} port {port}: {error}")
}

#[cfg(test)]
mod tests {
    use super::super::{Debug, Event, Level};
    use super::*;

    /// What `printf` makes of a format with `%d` and `%s`.
    fn printf(format: &str, arguments: &[&str]) -> String {
        let mut text = String::from(format);
        for argument in arguments {
            let place = match (text.find("%d"), text.find("%s")) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b).expect("an argument for each place"),
            };
            text.replace_range(place..place + 2, argument);
        }
        assert!(!text.contains('%'));
        text
    }

    /// The format strings as they stand in the document.
    // req 0.12 0.13 0.22 0.34 0.37 0.38 0.41 0.45 0.49 0.58
    #[test]
    fn every_text_is_the_documents_byte_for_byte() {
        let pairs = [
            (probing(7100), printf("Probing the service on port: %d.", &["7100"])),
            (
                connect_failed(7100, "xfs"),
                printf("Failed to connect to port <%d> of resource <%s>.", &["7100", "xfs"]),
            ),
            (
                disconnect_failed(7100, "xfs"),
                printf("Failed to disconnect to port %d of resource %s.", &["7100", "xfs"]),
            ),
            (
                connect_overran(28, 31, DISCONNECT_TIMEOUT_S),
                printf(
                    concat!(
                        "svc_probe used entire timeout of ",
                        "%d seconds during connect operation and exceeded the ",
                        "timeout by %d seconds. Attempting disconnect with timeout",
                        " %d "
                    ),
                    &["28", "31", "2"],
                ),
            ),
            (
                checking_server("/usr/openwin/bin/fsinfo -server fonts:7100 > /dev/null"),
                printf(
                    "Checking the server status with %s.",
                    &[&fsinfo_command("/usr/openwin/bin/fsinfo", "fonts", 7100)],
                ),
            ),
            (
                check_command_failed("fsinfo"),
                printf("Failed to check server status with command <%s>", &["fsinfo"]),
            ),
            (
                String::from(NO_ADDRESS),
                String::from("No network address resource in resource group."),
            ),
            (String::from(PROBE_TIMED_OUT), String::from("Probe timed out.")),
            (
                String::from(NO_NETWORK_RESOURCES),
                String::from("No network resources found for resource."),
            ),
            (
                server_connect_failed("web", 80),
                printf("Failed to connect to %s port %d", &["web", "80"]),
            ),
            (
                communication_failed("web", 80, "Broken pipe"),
                printf(
                    "Failed to communicate with server %s port %d: %s",
                    &["web", "80", "Broken pipe"],
                ),
            ),
        ];
        for (ours, theirs) in pairs {
            assert_eq!(ours, theirs);
        }
    }

    /// `LOG_INFO`, `LOG_ERR`, `DBG_LEVEL_LOW`, `DBG_LEVEL_HIGH`.
    // req 0.50
    #[test]
    fn every_text_has_the_documents_level() {
        assert_eq!(Event::Probing.level(), Level::Info);
        for event in [
            Event::NoAddress,
            Event::ConnectFailed,
            Event::DisconnectFailed,
            Event::ProbeTimedOut,
            Event::CheckCommandFailed,
            Event::NoNetworkResources,
            Event::ServerConnectFailed,
            Event::CommunicationFailed,
        ] {
            assert_eq!(event.level(), Level::Error, "{event:?}");
        }
        assert_eq!(Event::ConnectOverran.level(), Level::Debug);
        assert_eq!(Event::ConnectOverran.needs_debug(), Debug::Low);
        assert_eq!(Event::CheckingServer.needs_debug(), Debug::High);
        assert!(Event::CheckingServer.is_legacy() && !Event::Failure.is_legacy());
    }
}
