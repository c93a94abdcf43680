//! New connections to addresses refused, while those there are come to their end.
//!
//! A rule of nftables answers with a reset, so that a client tries again at once and soon finds
//! the next holder. What is refused is forgotten by the kernel after a while: a rule that
//! outlived us would keep the address shut once it is taken again.

use std::net::IpAddr;
use std::process::Command;

use super::spawn;

/// So long nothing outlives us.
const SECONDS: u32 = 10;

/// Refuses new connections to `addresses`, or no more.
///
/// # Errors
/// `nft` is not there, or failed; in words. Nothing is refused then.
pub(super) fn refuse(addresses: &[IpAddr], on: bool) -> Result<(), String> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]);
    let result = spawn::feed(command, &script(addresses, on));
    if on {
        result.map_err(|why| format!("new connections are not refused: {why}"))
    } else {
        Ok(())
    }
}

/// One transaction. What is taken out is put in before: taking out what is not there would fail.
fn script(addresses: &[IpAddr], on: bool) -> String {
    let mut text = String::from(
        "add table inet giveover_address\n\
         add set inet giveover_address four { type ipv4_addr; flags timeout; }\n\
         add set inet giveover_address six { type ipv6_addr; flags timeout; }\n\
         add chain inet giveover_address input { type filter hook input priority -150; }\n\
         flush chain inet giveover_address input\n",
    );
    for (family, set) in [("ip", "four"), ("ip6", "six")] {
        text += &format!(
            "add rule inet giveover_address input {family} daddr @{set} \
             tcp flags & (fin | syn | rst | ack) == syn reject with tcp reset\n"
        );
    }
    for address in addresses {
        let set = if address.is_ipv4() { "four" } else { "six" };
        let element = format!("element inet giveover_address {set} {{ {address}");
        text += &format!("add {element} timeout {SECONDS}s }}\n");
        if !on {
            text += &format!("delete {element} }}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_in_a_set_and_forgotten_by_itself() {
        let addresses: Vec<IpAddr> =
            ["10.0.0.10", "2001:db8::a"].map(|it| it.parse().expect("an address")).to_vec();
        let on = script(&addresses, true);
        assert!(on.contains("add element inet giveover_address four { 10.0.0.10 timeout 10s }"));
        assert!(on.contains("add element inet giveover_address six { 2001:db8::a timeout 10s }"));
        assert!(!on.contains("delete"));
        let off = script(&addresses, false);
        assert!(off.contains("delete element inet giveover_address four { 10.0.0.10 }"));
    }
}
