//! What the commands for the address do, where that can be told.

use std::net::Ipv4Addr;

/// The placeholder for the address.
pub(super) const PLACEHOLDER: &str = "$_IP_$";

/// Where the address belongs, as the commands say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    /// `eth0:0`: a name for the address beside the interface's own.
    pub(super) label: Option<String>,
    pub(super) prefix: u8,
}

/// What the document's commands, or `ip` with the same meaning, come to. `None` where they do
/// something else as well; then they are to be run as they are.
pub(super) fn told(up: &str, down: &str, arping: &str) -> Option<Interface> {
    let interface = brought_up(&words(up))?;
    let name = interface.label.as_ref().unwrap_or(&interface.name);
    let down = words(down);
    let taken = match down[..] {
        ["ifconfig", it, "down"] => interface.label.is_some() && it == name,
        ["ip", "addr" | "address", "del" | "delete", it, "dev", device] => {
            it.split('/').next() == Some(PLACEHOLDER) && device == interface.name
        }
        _ => false,
    };
    (taken && is_announcement(&words(arping), &interface.name)).then_some(interface)
}

/// The words of a command; `sudo` before it changes nothing of what it does, nor does a path.
fn words(command: &str) -> Vec<&str> {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    let base = |word: &str| word.rsplit('/').next().map(str::len).unwrap_or_default();
    if words.first().is_some_and(|word| word.ends_with("sudo") && base(word) == 4) {
        words.remove(0);
    }
    if let Some(first) = words.first_mut() {
        let program: &str = first;
        *first = program.get(program.len() - base(program)..).unwrap_or(program);
    }
    words
}

fn brought_up(words: &[&str]) -> Option<Interface> {
    match *words {
        ["ifconfig", device, "inet", PLACEHOLDER, "netmask", mask]
        | ["ifconfig", device, "inet", PLACEHOLDER, "netmask", mask, "up"]
        | ["ifconfig", device, PLACEHOLDER, "netmask", mask]
        | ["ifconfig", device, PLACEHOLDER, "netmask", mask, "up"] => {
            // Without a label it would replace the interface's own address.
            let (name, _) = device.split_once(':')?;
            Some(Interface {
                name: name.to_owned(),
                label: Some(device.to_owned()),
                prefix: prefix(mask)?,
            })
        }
        ["ip", "addr" | "address", "add", address, "dev", device, ref rest @ ..] => {
            let label = match *rest {
                [] => None,
                ["label", label] => Some(label.to_owned()),
                _ => return None,
            };
            let bits = address.strip_prefix(PLACEHOLDER)?.strip_prefix('/')?;
            let prefix = bits.parse().ok().filter(|bits| (1..=128).contains(bits))?;
            Some(Interface { name: device.to_owned(), label, prefix })
        }
        _ => None,
    }
}

/// A mask whose ones come first, as the number of them.
fn prefix(mask: &str) -> Option<u8> {
    let bits = u32::from(mask.parse::<Ipv4Addr>().ok()?);
    let ones = bits.leading_ones();
    let contiguous = bits.count_ones() == ones && ones > 0;
    contiguous.then(|| u8::try_from(ones).ok()).flatten()
}

/// `arping -U ADDRESS`, for any time, on the interface.
fn is_announcement(words: &[&str], interface: &str) -> bool {
    let Some((&"arping", rest)) = words.split_first() else { return false };
    let mut announces = false;
    let mut names = false;
    let mut rest = rest.iter();
    while let Some(&word) = rest.next() {
        match word {
            "-U" => announces = true,
            PLACEHOLDER => names = true,
            "-w" | "-c" if rest.next().is_some() => {}
            "-I" if rest.next() == Some(&interface) => {}
            _ => return false,
        }
    }
    announces && names
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: &str = "ifconfig eth0:0 inet $_IP_$ netmask 255.255.255.0";
    const DOWN: &str = "ifconfig eth0:0 down";
    const ARPING: &str = "arping -U $_IP_$ -w 1";

    fn eth0(prefix: u8, label: Option<&str>) -> Option<Interface> {
        Some(Interface { name: "eth0".to_owned(), label: label.map(str::to_owned), prefix })
    }

    // req 2.108 2.109 2.111
    #[test]
    fn the_documents_commands_are_an_address_with_a_label() {
        assert_eq!(told(UP, DOWN, ARPING), eth0(24, Some("eth0:0")));
        let up = "/sbin/ifconfig eth0:0 inet $_IP_$ netmask 255.255.0.0 up";
        assert_eq!(told(up, DOWN, ARPING), eth0(16, Some("eth0:0")));
    }

    #[test]
    fn later_versions_commands_are_the_same() {
        let up = "/usr/bin/sudo /sbin/ip addr add $_IP_$/24 dev eth0 label eth0:0";
        let down = "/usr/bin/sudo /sbin/ip addr del $_IP_$/24 dev eth0";
        let arping = "/usr/bin/sudo /usr/sbin/arping -U $_IP_$ -w 1 -I eth0";
        assert_eq!(told(up, down, arping), eth0(24, Some("eth0:0")));
        let up = "ip address add $_IP_$/32 dev eth0";
        assert_eq!(told(up, down, arping), eth0(32, None));
    }

    #[test]
    fn what_cannot_be_told_is_none() {
        let none = |up: &str, down: &str, arping: &str| {
            assert_eq!(told(up, down, arping), None, "{up}; {down}; {arping}");
        };
        none("ifconfig eth0:0 inet $_IP_$ netmask 255.0.255.0", DOWN, ARPING);
        none("ifconfig eth0 inet $_IP_$ netmask 255.255.255.0", "ifconfig eth0 down", ARPING);
        none("/opt/up.sh $_IP_$", DOWN, ARPING);
        none(UP, "ifconfig eth0:1 down", ARPING);
        none(UP, "ifconfig eth0:0 down; logger gone", ARPING);
        none(UP, DOWN, "arping -A $_IP_$ -w 1");
        none(UP, DOWN, "arping -U $_IP_$ -I eth1");
        none(UP, DOWN, "arping -U $_IP_$ -w");
        none("ip addr add $_IP_$/0 dev eth0", DOWN, ARPING);
        none("ip addr add $_IP_$ dev eth0", DOWN, ARPING);
        none("", "", "");
    }
}
