//! Who has which socket open, as `/proc` tells.

use std::collections::BTreeSet;
use std::fs;

/// The sockets that process `pid` has open, by their inodes; none if we may not look.
#[must_use]
pub fn of(pid: u32) -> BTreeSet<u64> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    descriptors
        .filter_map(|descriptor| {
            let link = fs::read_link(descriptor.ok()?.path()).ok()?;
            link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

/// The sockets of this network that take connections or datagrams, by their inodes.
#[must_use]
pub fn open() -> BTreeSet<u64> {
    const TABLES: [&str; 4] = ["tcp", "tcp6", "udp", "udp6"];
    let mut open = BTreeSet::new();
    for table in TABLES {
        // Without IPv6 there are only two of them.
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut fields = line.split_whitespace().skip(3);
            let listens = fields.next() == Some("0A") || table.starts_with("udp");
            let inode = fields.nth(5).and_then(|inode| inode.parse::<u64>().ok());
            open.extend(inode.filter(|_| listens));
        }
    }
    open
}
