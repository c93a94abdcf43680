//! Services that run on after their monitor died, found by what their environment says.

use giveover_core::time::Instant;

use super::Identity;
use crate::reactor::{Instance, Member, procfs};

/// The variable that tells one configuration's services from another's.
pub(super) const STATE: &str = "GIVEOVER_STATE";

/// A monitor that is killed between making a process and writing down which one it is leaves
/// one that no journal names. Started again, it must not make a second one.
#[derive(Debug, Default)]
pub(super) struct Strays {
    /// Of which configuration.
    state: String,
    /// When they were looked for last.
    looked: Option<Instant>,
    found: Vec<(Box<str>, Identity)>,
}

/// How long one look serves, in milliseconds: all services of a starting monitor share it.
const SERVES: u64 = 1000;

impl Strays {
    pub(super) fn of(state: &str) -> Self {
        Self { state: state.to_owned(), ..Self::default() }
    }

    /// Those of `service`, the oldest first; what has ended meanwhile may be among them.
    pub(super) fn take(&mut self, service: &str, now: Instant) -> Vec<Identity> {
        if self.looked.is_none_or(|looked| now.since(looked) >= SERVES) {
            self.looked = Some(now);
            self.found = look(&self.state);
        }
        let (mine, others) =
            std::mem::take(&mut self.found).into_iter().partition(|(name, _)| **name == *service);
        self.found = others;
        let mut mine: Vec<(Box<str>, Identity)> = mine;
        mine.sort_by_key(|(_, identity)| identity.start);
        mine.into_iter().map(|(_, identity)| identity).collect()
    }
}

fn look(state: &str) -> Vec<(Box<str>, Identity)> {
    let Some(boot) = procfs::boot_id() else { return Vec::new() };
    let each = procfs::all().into_iter().filter_map(|pid| {
        let environment = procfs::environment(pid)?;
        let (service, instance) = service_in(&environment, state)?;
        let monitor = Member { start: instance.since, pid: instance.monitor };
        let start = Member::of(pid)?.start;
        // One whose monitor lives is that one's.
        (!monitor.is_running()).then_some((service, Identity { boot, pid, start, instance }))
    });
    each.collect()
}

/// Which service of ours a process with this environment belongs to. The processes of a check
/// are none.
fn service_in(environment: &[u8], state: &str) -> Option<(Box<str>, Instance)> {
    let value = |name: &str| {
        let lines = environment.split(|byte| *byte == 0);
        let mut values = lines.filter_map(|l| l.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.next().and_then(|value| std::str::from_utf8(value).ok())
    };
    let ours = value(STATE) == Some(state) && value("GIVEOVER_CHECK").is_none();
    let service = value("GIVEOVER_SERVICE").filter(|_| ours)?;
    Some((service.into(), Instance::find(environment)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_services_of_this_configuration_count() {
        let of = |lines: &[&str]| service_in(lines.join("\0").as_bytes(), "/state");
        let (mark, state) = ("GIVEOVER_INSTANCE=1-2-3", "GIVEOVER_STATE=/state");
        let web = "GIVEOVER_SERVICE=web";
        assert!(of(&["A=b", mark, web, state]).is_some_and(|(name, _)| *name == *"web"));
        assert_eq!(of(&[web, state]), None);
        assert_eq!(of(&[mark, state]), None);
        assert_eq!(of(&[mark, web, "GIVEOVER_STATE=/other"]), None);
        assert_eq!(of(&[mark, web]), None);
        assert_eq!(of(&[mark, web, state, "GIVEOVER_CHECK=page"]), None);
    }
}
