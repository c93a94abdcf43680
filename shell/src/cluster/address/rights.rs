//! What an address needs of the kernel, and no more than that.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

/// Addresses and frames; nothing else is needed.
const NEEDED: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// Whether this process may do what addresses need.
///
/// # Errors
/// What it lacks, in words.
pub fn look() -> Result<(), String> {
    let have = capabilities(None).map_err(|errno| format!("rights are not known: {errno}"))?;
    let lacks = NEEDED.difference(have.effective);
    if lacks.is_empty() {
        return Ok(());
    }
    let names =
        [(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"), (CapabilitySet::NET_RAW, "CAP_NET_RAW")];
    let names = names.iter().filter(|(right, _)| lacks.contains(*right)).map(|(_, name)| *name);
    Err(format!("an address needs {}, or root", names.collect::<Vec<_>>().join(" and ")))
}

/// Gives up every right but those, for this process and what it runs.
///
/// # Errors
/// The kernel's own; rights are then as they were.
pub(super) fn shed() -> io::Result<()> {
    // What it runs gets no more than it has, whoever owns this process.
    rustix::thread::set_no_new_privs(true)?;
    set_capabilities(
        None,
        CapabilitySets { effective: NEEDED, permitted: NEEDED, inheritable: NEEDED },
    )?;
    for right in [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW] {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}
