//! What the tasks need from the machine, and how it gets there.
//!
//! Nothing is installed that is there already, and every installation says what it brings and why.

use std::path::Path;
use std::process::Command;

use crate::child;
use crate::step::Step;
use crate::thumb;
use crate::workspace::{cargo, output, program};

/// What something is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// The tests against real servers and files.
    RealServers,
    /// The programs our figures are compared with.
    Bench,
    /// Building for the board where rustup has no such target.
    Board,
}

/// A package of Debian.
#[derive(Debug)]
pub(crate) struct Package {
    name: &'static str,
    /// The program or file by which it is known to be there.
    brings: &'static str,
    /// The services Debian would start with it. We want the program alone.
    unit: Option<&'static str>,
    needed: For,
    why: &'static str,
}

const PACKAGES: [Package; 40] = [
    Package {
        name: "chromium",
        brings: "chromium",
        unit: None,
        needed: For::RealServers,
        why: "the dashboard and the pictures, in a real browser",
    },
    Package {
        name: "openssl",
        brings: "openssl",
        unit: None,
        needed: For::RealServers,
        why: "certificates, and a TLS server of each version",
    },
    Package {
        name: "stunnel4",
        brings: "stunnel4",
        unit: Some("stunnel4.service"),
        needed: For::RealServers,
        why: "TLS before the servers that have none: leafnode and telnetd",
    },
    Package {
        name: "strace",
        brings: "strace",
        unit: None,
        needed: For::RealServers,
        why: "the daemon is killed at its system calls, and they are made to fail",
    },
    Package {
        name: "nginx-light",
        brings: "nginx",
        unit: Some("nginx.service"),
        needed: For::RealServers,
        why: "a real HTTP server to probe, kill and restart",
    },
    Package {
        name: "redis-server",
        brings: "redis-server",
        unit: Some("redis-server.service"),
        needed: For::RealServers,
        why: "a real server with a protocol of its own",
    },
    Package {
        name: "mosquitto",
        brings: "mosquitto",
        unit: Some("mosquitto.service"),
        needed: For::RealServers,
        why: "a real broker for `mqtt` checks",
    },
    Package {
        name: "postgresql",
        brings: "/var/lib/postgresql",
        unit: Some("postgresql.service"),
        needed: For::RealServers,
        why: "a real database for `postgres` checks and monitors",
    },
    Package {
        name: "pgpool2",
        brings: "pgpool",
        unit: Some("pgpool2.service"),
        needed: For::RealServers,
        why: "what the source document's watchdog guards: two of it, told by two nodes",
    },
    Package {
        name: "apache2",
        brings: "apache2",
        unit: Some("apache2.service"),
        needed: For::RealServers,
        why: "the web server of the source documents' Apache monitor",
    },
    Package {
        name: "rpcbind",
        brings: "rpcbind",
        unit: Some("rpcbind.service"),
        needed: For::RealServers,
        why: "a real portmapper for `rpc` checks",
    },
    Package {
        name: "nfs-common",
        brings: "/sbin/rpc.statd",
        unit: Some("rpc-statd.service"),
        needed: For::RealServers,
        why: "a real statd, whose port rpcbind is asked for",
    },
    Package {
        name: "nfs-ganesha",
        brings: "/usr/bin/ganesha.nfsd",
        unit: Some("nfs-ganesha.service"),
        needed: For::RealServers,
        why: "a real NFS server that needs no kernel: nfsd, mountd and lockd",
    },
    Package {
        name: "nfs-ganesha-mem",
        brings: "/usr/share/doc/nfs-ganesha-mem",
        unit: None,
        needed: For::RealServers,
        why: "something for it to share",
    },
    Package {
        name: "slapd",
        brings: "slapd",
        unit: Some("slapd.service"),
        needed: For::RealServers,
        why: "a real directory for `ldap` checks",
    },
    Package {
        name: "postfix",
        brings: "postfix",
        unit: Some("postfix.service"),
        needed: For::RealServers,
        why: "a real mail server for `smtp` checks",
    },
    Package {
        name: "dovecot-imapd",
        brings: "/usr/lib/dovecot/imap",
        unit: Some("dovecot.service"),
        needed: For::RealServers,
        why: "a real mailbox server for `imap` checks",
    },
    Package {
        name: "dovecot-pop3d",
        brings: "/usr/lib/dovecot/pop3",
        unit: Some("dovecot.service"),
        needed: For::RealServers,
        why: "the same for `pop3` checks",
    },
    Package {
        name: "vsftpd",
        brings: "vsftpd",
        unit: Some("vsftpd.service"),
        needed: For::RealServers,
        why: "a real file server for `ftp` checks",
    },
    Package {
        name: "leafnode",
        brings: "/usr/sbin/leafnode",
        unit: Some("leafnode.socket"),
        needed: For::RealServers,
        why: "a real news server for `nntp` checks",
    },
    Package {
        name: "inetutils-telnetd",
        brings: "telnetd",
        unit: Some("inetutils-inetd.service inetutils-syslogd.service"),
        needed: For::RealServers,
        why: "a real terminal server for `telnet` checks",
    },
    Package {
        name: "bind9",
        brings: "named",
        unit: Some("named.service bind9.service"),
        needed: For::RealServers,
        why: "a real name server for `dns` checks, of zones of its own",
    },
    Package {
        name: "unbound",
        brings: "unbound",
        unit: Some("unbound.service"),
        needed: For::RealServers,
        why: "the other one, which asks for its clients",
    },
    Package {
        name: "iproute2",
        brings: "ip",
        unit: None,
        needed: For::RealServers,
        why: "networks of our own with hosts that cannot be reached",
    },
    Package {
        name: "ipsvd",
        brings: "tcpsvd",
        unit: None,
        needed: For::RealServers,
        why: "listens for the two servers that want to be started by others",
    },
    Package {
        name: "x11-xfs-utils",
        // Debian's name for fsinfo.
        brings: "xfsinfo",
        unit: None,
        needed: For::RealServers,
        why: "the command of the xfnts preset",
    },
    Package {
        name: "runit",
        brings: "runsv",
        unit: None,
        needed: For::RealServers,
        why: "a supervisor that restarts the monitor itself",
    },
    Package {
        name: "python3",
        brings: "python3",
        unit: None,
        needed: For::RealServers,
        why: "tomllib, another reader of our example files",
    },
    Package {
        name: "qemu-system-arm",
        brings: "qemu-system-arm",
        unit: None,
        needed: For::RealServers,
        why: "the boards that can be had without soldering",
    },
    Package {
        name: "haproxy",
        brings: "haproxy",
        unit: Some("haproxy.service"),
        needed: For::RealServers,
        why: "a real balancer, which follows a pool's members",
    },
    Package {
        name: "etcd-server",
        brings: "etcd",
        unit: Some("etcd.service"),
        needed: For::RealServers,
        why: "three members of a real store, by which nodes decide",
    },
    Package {
        name: "etcd-client",
        brings: "etcdctl",
        unit: None,
        needed: For::RealServers,
        why: "somebody who deletes a holder's key in it",
    },
    Package {
        name: "nftables",
        brings: "nft",
        unit: Some("nftables.service"),
        needed: For::RealServers,
        why: "maps and sets of a real kernel, which follow a pool's members",
    },
    Package {
        name: "haproxy",
        brings: "haproxy",
        unit: Some("haproxy.service"),
        needed: For::Bench,
        why: "its checks are measured beside ours",
    },
    Package {
        name: "monit",
        brings: "monit",
        unit: Some("monit.service"),
        needed: For::Bench,
        why: "its checks are measured beside ours",
    },
    Package {
        name: "keepalived",
        brings: "keepalived",
        unit: Some("keepalived.service"),
        needed: For::Bench,
        why: "its checks are measured beside ours, where the kernel lets it run",
    },
    Package {
        name: "rustc-web",
        brings: "/usr/bin/rustc",
        unit: None,
        needed: For::Board,
        why: "a compiler whose `core` source Debian has too",
    },
    Package {
        name: "cargo-web",
        brings: "/usr/bin/cargo",
        unit: None,
        needed: For::Board,
        why: "the cargo of that compiler",
    },
    Package {
        name: "rust-web-src",
        brings: "/usr/lib/rustlib/src/rust/library/core",
        unit: None,
        needed: For::Board,
        why: "the source of `core`, built for the board's processors",
    },
    Package {
        name: "lld",
        brings: "/usr/bin/ld.lld",
        unit: None,
        needed: For::Board,
        why: "the linker of the board's images",
    },
];

/// Runs as root with the packages as arguments. Debian starts a service as soon as it is installed
/// unless this policy says no; a policy that is already there is the owner's and stays. Nothing is
/// removed for what is installed: a machine keeps the mail server it has.
const INSTALL: &str = r#"
policy=/usr/sbin/policy-rc.d
if ! test -e "$policy"; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    trap 'exit 130' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Acquire::Retries=3 update || echo 'going on with the lists that are here'
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 \
    --no-install-recommends --no-remove install "$@"
"#;

/// What of this is not on the machine.
pub(crate) fn missing(needed: For) -> Vec<&'static Package> {
    PACKAGES.iter().filter(|package| package.needed == needed && !package.present()).collect()
}

impl Package {
    fn present(&self) -> bool {
        if self.brings.starts_with('/') {
            Path::new(self.brings).exists()
        } else {
            program(self.brings).is_some()
        }
    }

    /// The program it brings.
    pub(crate) fn brings(&self) -> &'static str {
        self.brings
    }
}

/// Installs what is missing for one purpose.
///
/// # Errors
/// We may not, or the installation failed; the text has the command to run by hand.
pub(crate) fn install(needed: For) -> Result<(), String> {
    let packages = missing(needed);
    if packages.is_empty() {
        return Ok(());
    }
    for package in &packages {
        println!("missing: {} (Debian package {}): {}", package.brings, package.name, package.why);
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    let units = packages.iter().filter_map(|package| package.unit);
    let units: Vec<&str> = units.flat_map(str::split_whitespace).collect();
    let mut command =
        as_root(&["sh", "-ec", INSTALL, "install"]).ok_or_else(|| by_hand(&names, &units))?;
    let called = format!("apt-get install --no-install-recommends {}", names.join(" "));
    child::run_named(command.args(&names), &called)?;
    if !units.is_empty() && Path::new("/run/systemd/system").exists() {
        // The policy kept them from starting now; this keeps them from starting at the next boot.
        let disable = as_root(&["systemctl", "disable", "--now"]);
        // What another package is there in place of is not.
        let there = |unit: &&str| output(Command::new("systemctl").args(["cat", unit])).is_some();
        let units: Vec<&str> = units.into_iter().filter(there).collect();
        disable.map_or(Ok(()), |mut command| child::run(command.args(units)))?;
    }
    match missing(needed).first() {
        None => Ok(()),
        Some(package) => {
            Err(format!("{} is installed and brings no {}", package.name, package.brings))
        }
    }
}

/// A command with root's rights, if we have them or can have them without a password.
fn as_root(words: &[&str]) -> Option<Command> {
    let root = output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    let mut words = words.iter();
    let mut command = if root {
        Command::new(words.next()?)
    } else {
        output(Command::new("sudo").args(["-n", "true"]))?;
        let mut command = Command::new("sudo");
        command.arg("-n");
        command
    };
    command.args(words);
    Some(command)
}

fn by_hand(names: &[&str], units: &[&str]) -> String {
    let names = names.join(" ");
    let mut text = format!(
        "no rights to install; run: sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}"
    );
    if !units.is_empty() {
        let units = units.join(" ");
        text += &format!(
            " (Debian starts what it installs; to undo that: sudo systemctl disable --now {units})"
        );
    }
    text
}

/// The step of the test run that makes everything else possible.
pub(crate) fn step(step: &mut Step) {
    step.check(rust_components());
    step.check(board_targets());
    step.check(install(For::RealServers));
}

fn rust_components() -> Result<(), String> {
    let mut absent = Vec::new();
    for (component, verb, why) in
        [("rustfmt", "fmt", "one layout for all code"), ("clippy", "clippy", "its lints")]
    {
        if output(&mut cargo([verb, "--version"])).is_none() {
            println!("missing: {component} (rustup component): {why}");
            absent.push(component);
        }
    }
    if absent.is_empty() {
        return Ok(());
    }
    child::run(Command::new("rustup").args(["component", "add"]).args(absent))
}

/// The board's processors: by rustup where it has them, else by Debian's compiler.
pub(crate) fn board_targets() -> Result<(), String> {
    if thumb::own_targets() {
        return Ok(());
    }
    println!("missing: {} (rustup targets): the board's library", thumb::TARGETS.join(", "));
    match child::run(Command::new("rustup").args(["target", "add"]).args(thumb::TARGETS)) {
        Ok(()) if thumb::own_targets() => return Ok(()),
        Ok(()) => println!("rustup has added them to another compiler than ours"),
        Err(why) => println!("{why}"),
    }
    println!("Debian's compiler will build `core` for them from its source");
    install(For::Board)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_rights_the_exact_command_is_said() {
        let text = by_hand(&["nginx-light", "python3"], &["nginx.service"]);
        assert!(text.contains("apt-get install -y --no-install-recommends nginx-light python3"));
        assert!(text.contains("systemctl disable --now nginx.service"));
    }

    #[test]
    fn a_program_that_is_here_is_not_missing() {
        let shell = Package { brings: "sh", unit: None, needed: For::Bench, name: "", why: "" };
        assert!(shell.present());
        assert!(!Package { brings: "no-such-program", ..shell }.present());
    }
}
