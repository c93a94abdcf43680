//! Who is on the other end of the control socket, and what they may do.

use std::fs;

use nix::unistd::{Group, Uid, User};

/// The peer of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) pid: i32,
}

impl Peer {
    /// The name that stands in the record: who called `sudo`, or the user.
    pub(super) fn name(&self) -> String {
        let behind_sudo = (self.uid == 0).then(|| sudo_user(self.pid)).flatten();
        behind_sudo.unwrap_or_else(|| match User::from_uid(Uid::from_raw(self.uid)) {
            Ok(Some(user)) => user.name,
            _ => format!("uid {}", self.uid),
        })
    }
}

fn sudo_user(pid: i32) -> Option<String> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let name =
        environ.split(|byte| *byte == 0).find_map(|pair| pair.strip_prefix(b"SUDO_USER="))?;
    String::from_utf8(name.to_vec()).ok()
}

/// Who may command: root, the daemon's own user, and whom `[control] command` names.
#[derive(Clone, Debug, Default)]
pub(super) struct Rights {
    uids: Vec<u32>,
    gids: Vec<u32>,
}

impl Rights {
    /// Looks the names of `list` up once; `@name` is a group. Unknown names give nobody
    /// anything and are returned.
    pub(super) fn new(list: &[String]) -> (Self, Vec<String>) {
        let own = Uid::effective().as_raw();
        let mut rights = Self { uids: vec![0, own], gids: Vec::new() };
        let mut unknown = Vec::new();
        for name in list {
            let known = match name.strip_prefix('@') {
                Some(group) => rights.add_group(group),
                None => rights.add_user(name),
            };
            if !known {
                unknown.push(name.clone());
            }
        }
        (rights, unknown)
    }

    fn add_user(&mut self, name: &str) -> bool {
        let Ok(Some(user)) = User::from_name(name) else { return false };
        self.uids.push(user.uid.as_raw());
        true
    }

    fn add_group(&mut self, name: &str) -> bool {
        let Ok(Some(group)) = Group::from_name(name) else { return false };
        self.gids.push(group.gid.as_raw());
        for member in &group.mem {
            self.add_user(member);
        }
        true
    }

    /// Whether `peer` may command.
    pub(super) fn allow(&self, peer: &Peer) -> bool {
        self.uids.contains(&peer.uid) || self.gids.contains(&peer.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_own_user_may_command_and_others_only_if_named() {
        let stranger = Peer { uid: 54321, gid: 54321, pid: 1 };
        let (rights, unknown) = Rights::new(&["no-such-user".to_owned(), "@root".to_owned()]);
        assert_eq!(unknown, ["no-such-user"]);
        assert!(rights.allow(&Peer { uid: 0, ..stranger.clone() }));
        assert!(rights.allow(&Peer { uid: Uid::effective().as_raw(), ..stranger.clone() }));
        assert!(rights.allow(&Peer { gid: 0, ..stranger.clone() }));
        assert!(!rights.allow(&stranger));
        assert_eq!(stranger.name(), "uid 54321");
    }
}
