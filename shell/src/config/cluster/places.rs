//! Where the file says what a group needs of the machine it runs on.

use super::super::source::Place;
use super::super::tree::Table;
use super::group::GroupPlan;

/// The places of one group's commands and checks.
#[derive(Clone, Debug)]
pub(in crate::config) struct GroupPlaces(Vec<(String, Place)>);

/// The commands of a group, by their keys.
const COMMANDS: [&[&str]; 9] = [
    &["on_active"],
    &["on_standby"],
    &["up"],
    &["down"],
    &["announce"],
    &["promote"],
    &["recovery", "ports"],
    &["recovery", "block"],
    &["recovery", "unblock"],
];

impl GroupPlaces {
    /// What `root` has of `group`.
    pub(in crate::config) fn of(root: &Table, group: &GroupPlan) -> Self {
        let checks = group.checks.iter().find(|checks| !checks.is_empty());
        let checks = checks.into_iter().flat_map(|checks| checks.iter());
        let checks = checks.map(|check| vec!["check", &*check.name]);
        let keys = COMMANDS.iter().map(|key| key.to_vec()).chain(checks);
        let place = |key: Vec<&str>| {
            let path = [&["group", &*group.name], &key[..]].concat();
            root.find(&path).map(|entry| (key.join("."), entry.node.place))
        };
        Self(keys.filter_map(place).collect())
    }

    /// Where `key` is, if it is there.
    pub(in crate::config) fn get(&self, key: &str) -> Option<Place> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, place)| *place)
    }
}
