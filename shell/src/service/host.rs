//! What services find on this host.

use std::path::PathBuf;

use giveover_core::time::Span;

use crate::reactor::Cgroups;

/// What services find on this host.
#[derive(Clone, Debug)]
pub struct Host {
    /// A program that has the verb [`super::exec::VERB`]: ours.
    pub helper: String,
    /// The socket of the journal's stream.
    pub journal: Option<PathBuf>,
    /// Where we may make control groups.
    pub cgroups: Option<Cgroups>,
    /// The command that speaks to systemd, less its arguments.
    pub systemctl: Vec<String>,
    /// How often systemd is asked how its units are.
    pub poll: Span,
    /// This node's name, for `$NODE`.
    pub node: String,
    /// Tells the services of this configuration from those of others: its state directory.
    pub state: String,
}

impl Host {
    /// What there is.
    #[must_use]
    pub fn detect(node: &str, state: &str) -> Self {
        let journal = PathBuf::from("/run/systemd/journal/stdout");
        Self {
            helper: "/proc/self/exe".to_owned(),
            journal: journal.exists().then_some(journal),
            cgroups: Cgroups::delegated(),
            systemctl: vec!["systemctl".to_owned()],
            poll: Span::from_secs(5),
            node: node.to_owned(),
            state: state.to_owned(),
        }
    }
}
