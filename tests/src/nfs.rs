//! An NFS server of Debian's packages: rpcbind, statd, and nfs-ganesha with nfsd, mountd and lockd in
//! one process of its own, since the kernel's cannot run in a container.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};

use crate::wait_for;

/// The words that run rpcbind in the foreground.
pub const RPCBIND: [&str; 2] = ["/usr/sbin/rpcbind", "-f"];
/// The words that run statd in the foreground.
pub const STATD: [&str; 3] = ["/sbin/rpc.statd", "-F", "--no-notify"];

const GANESHA: &str = "\
NFS_CORE_PARAM { Protocols = 3; NFS_Port = 2049; MNT_Port = 20048; NLM_Port = 20049; Enable_RQUOTA = false; }
EXPORT { Export_Id = 1; Path = /share; Pseudo = /share; Access_Type = RW; Protocols = 3; FSAL { Name = MEM; } }
";

/// A network, a /run and a /var/lib/nfs for this thread and what it starts; and the words that run
/// ganesha there, with its files in `dir`.
///
/// # Panics
/// We are not root, or may not.
#[must_use]
pub fn of_our_own(dir: &Path) -> Vec<String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("a place of our own");
    let script = "set -e; mount --make-rprivate /; ip link set lo up
        mount -t tmpfs tmpfs /run; mkdir /run/rpcbind /run/ganesha
        mkdir -p /var/lib/nfs; mount -t tmpfs tmpfs /var/lib/nfs
        mkdir /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/ganesha; touch /var/lib/nfs/state
        chown -R statd /var/lib/nfs";
    let done = Command::new("sh").args(["-c", script]).status().expect("sh");
    assert!(done.success(), "no mounts here");
    fs::write(dir.join("ganesha.conf"), GANESHA).expect("a configuration");
    let dir = dir.display();
    let words = [
        "/usr/bin/ganesha.nfsd",
        "-F",
        "-f",
        &format!("{dir}/ganesha.conf"),
        "-L",
        &format!("{dir}/ganesha.log"),
        "-p",
        &format!("{dir}/ganesha.pid"),
    ];
    words.map(str::to_owned).to_vec()
}

/// Waits until rpcbind knows all these.
///
/// # Panics
/// It does not come to know them.
pub fn wait_registered(programs: &[&str]) {
    wait_for("the programs to register", || {
        let list = Command::new("rpcinfo").arg("-p").output().expect("rpcinfo").stdout;
        let list = String::from_utf8_lossy(&list).into_owned();
        programs.iter().all(|program| list.contains(program)).then_some(())
    });
}
