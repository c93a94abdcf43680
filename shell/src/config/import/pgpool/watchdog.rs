//! The watchdog's section, read whole: each value as what it means, or as its default.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::super::super::report::Findings;
use super::super::super::source::Place;
use super::super::super::words;
use super::conf::{Conf, Setting};
use super::interface::PLACEHOLDER;
use super::parameters;

/// The section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watchdog {
    pub(super) on: bool,
    pub(super) trusted: Vec<String>,
    pub(super) address: Option<IpAddr>,
    pub(super) hostname: String,
    pub(super) port: u16,
    pub(super) pgpool_port: u16,
    pub(super) others: Vec<Other>,
    pub(super) interval_s: u32,
    pub(super) life: u8,
    pub(super) query: String,
    pub(super) up: String,
    pub(super) down: String,
    pub(super) arping: String,
    pub(super) ifconfig_path: String,
    pub(super) arping_path: String,
}

/// Another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) number: u32,
    pub(super) hostname: String,
    pub(super) pgpool_port: u16,
    pub(super) port: u16,
}

/// Reads the section; `hostname` is what the command of that name prints here. `None` where
/// something is wrong, and that has been said.
pub(super) fn read(conf: &Conf, hostname: &str, out: &mut Findings) -> Option<Watchdog> {
    let before = out.count();
    let reader = Reader { conf };
    let on = reader.flag("use_watchdog", out);
    let own = reader.text("wd_hostname");
    let watchdog = Watchdog {
        on,
        trusted: reader.hosts("trusted_servers", out),
        address: reader.address("delegate_IP", out),
        hostname: if own.is_empty() { hostname.to_owned() } else { own },
        port: reader.number("wd_port", 1..=65535, out),
        pgpool_port: reader.number("port", 1..=65535, out),
        others: reader.others(out),
        // Seconds up to what fits into milliseconds of 32 bits.
        interval_s: reader.number("wd_interval", 1..=4_000_000, out),
        life: reader.number("wd_life_point", 1..=100, out),
        query: reader.text("wd_lifecheck_query"),
        up: reader.command("if_up_cmd", true, out),
        down: reader.command("if_down_cmd", false, out),
        arping: reader.command("arping_cmd", true, out),
        ifconfig_path: reader.text("ifconfig_path"),
        arping_path: reader.text("arping_path"),
    };
    if on {
        reader.judge(&watchdog, out);
    }
    (out.count() == before).then_some(watchdog)
}

struct Reader<'c> {
    conf: &'c Conf,
}

impl Reader<'_> {
    fn setting(&self, name: &str) -> Option<&Setting> {
        self.conf.find(&name.to_ascii_lowercase())
    }

    fn place(&self, name: &str) -> Place {
        self.setting(name).map_or(Place::whole(0), |setting| setting.place)
    }

    fn text(&self, name: &str) -> String {
        let usual = parameters::default(name.trim_end_matches(|c: char| c.is_ascii_digit()));
        let usual = if usual.is_empty() { parameters::default(name) } else { usual };
        self.setting(name).map_or(usual, |setting| &setting.value).to_owned()
    }

    fn flag(&self, name: &str, out: &mut Findings) -> bool {
        match self.text(name).to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => true,
            "off" | "false" | "no" | "0" => false,
            other => {
                out.error(self.place(name), format!("{name}: `{other}` is neither on nor off"));
                false
            }
        }
    }

    fn number<T: TryFrom<u32> + Default>(
        &self,
        name: &str,
        range: RangeInclusive<u32>,
        out: &mut Findings,
    ) -> T {
        let text = self.text(name);
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.unwrap_or_else(|| {
            let (from, to) = (range.start(), range.end());
            out.error(self.place(name), format!("{name}: `{text}` is no number {from} to {to}"));
            T::default()
        })
    }

    fn hosts(&self, name: &str, out: &mut Findings) -> Vec<String> {
        let text = self.text(name);
        let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
        hosts.filter(|host| self.host(name, host, out)).map(str::to_owned).collect()
    }

    fn host(&self, name: &str, host: &str, out: &mut Findings) -> bool {
        let is = words::is_name(host) && !host.contains('@');
        if !is {
            out.error(self.place(name), format!("{name}: `{host}` is no host"));
        }
        is
    }

    fn address(&self, name: &str, out: &mut Findings) -> Option<IpAddr> {
        let text = self.text(name);
        let address = text.parse().ok();
        if address.is_none() && !text.is_empty() {
            out.error(self.place(name), format!("{name}: `{text}` is no address"));
        }
        address
    }

    /// A command is words between spaces: pgpool-II gives it to no shell either.
    fn command(&self, name: &str, needs_address: bool, out: &mut Findings) -> String {
        let text = self.text(name);
        if text.trim().is_empty() {
            out.error(self.place(name), format!("{name}: names no program"));
        } else if needs_address && !text.contains(PLACEHOLDER) {
            out.error(self.place(name), format!("{name}: does not say {PLACEHOLDER}"));
        }
        text
    }

    fn others(&self, out: &mut Findings) -> Vec<Other> {
        let numbers = self.conf.names().into_iter().filter_map(|name| {
            let (parameter, number) = parameters::find(name)?;
            parameter.numbered.then_some(())?;
            number
        });
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut others = Vec::new();
        for (number, wanted) in numbers.into_iter().zip(0..) {
            let name = format!("other_pgpool_hostname{number}");
            let hostname = self.text(&name);
            let ports = ["other_pgpool_port", "other_wd_port"].map(|it| format!("{it}{number}"));
            if number != wanted {
                let place = [&name, &ports[0], &ports[1]].map(|name| self.place(name));
                let place = place.into_iter().find(|place| place.span().is_some());
                let message =
                    format!("{name}: other nodes are numbered from 0 on, {wanted} is next");
                out.error(place.unwrap_or(Place::whole(0)), message);
                return others;
            }
            if hostname.is_empty() {
                let message = format!("{name} is missing, though node {number} has a port");
                out.error(self.place(&ports[0]), message);
            } else {
                self.host(&name, &hostname, out);
            }
            others.push(Other {
                number,
                hostname,
                pgpool_port: self.number(&ports[0], 1..=65535, out),
                port: self.number(&ports[1], 1..=65535, out),
            });
        }
        others
    }

    /// What pgpool-II refuses when it starts.
    fn judge(&self, watchdog: &Watchdog, out: &mut Findings) {
        let place = self.place("use_watchdog");
        if watchdog.address.is_none() && self.text("delegate_IP").is_empty() {
            out.error(place, "delegate_IP is missing: pgpool-II would not start either");
        }
        if watchdog.others.is_empty() {
            let message = "other_pgpool_hostname0 is missing: pgpool-II would not start either";
            out.error(place, message);
        }
        if !words::is_name(&watchdog.hostname) {
            let message = format!("wd_hostname: `{}` is no host", watchdog.hostname);
            out.error(self.place("wd_hostname"), message);
        }
        let mut seen = vec![watchdog.hostname.as_str()];
        for other in &watchdog.others {
            if seen.contains(&other.hostname.as_str()) {
                let name = format!("other_pgpool_hostname{}", other.number);
                let message = format!("{name}: `{}` is another node already", other.hostname);
                out.error(self.place(&name), message).label("a node has one name");
            }
            seen.push(&other.hostname);
        }
        if watchdog.address.is_some_and(|it| it.is_unspecified() || it.is_loopback()) {
            out.error(self.place("delegate_IP"), "delegate_IP: it can belong to no node");
        }
    }
}
