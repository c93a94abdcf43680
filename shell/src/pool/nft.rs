//! nftables: the map and the sets of a pool, exchanged in one transaction and read back.
//!
//! The table, the map and the sets are the operator's, and so are the rules that use them. The map
//! goes from slots to members, each as often as its weight asks, so that one rule stays for ever:
//! `dnat ip to numgen inc mod 64 map @web`, with `typeof numgen inc mod 64 : ip daddr . tcp dport`.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::config::plan::NftPlan;

/// What the map and the sets shall hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Who gets work, with shares.
    pub works: Vec<(SocketAddr, u32)>,
    /// Whose connections are rejected.
    pub cut: Vec<SocketAddr>,
    /// Where the map leads when nobody gets work.
    pub instead: Option<SocketAddr>,
}

impl Wanted {
    /// The members in the slots of the map: each at least once where there is room, the rest by
    /// weight, spread so that neighbours differ. When nobody works all of them lead to what acts
    /// instead, or there are none.
    #[must_use]
    pub fn slots(&self, count: u16) -> Vec<SocketAddr> {
        let sum: u64 = self.works.iter().map(|(_, weight)| u64::from((*weight).max(1))).sum();
        if sum == 0 {
            let instead = self.instead.iter().copied();
            return instead.flat_map(|it| std::iter::repeat_n(it, count.into())).collect();
        }
        // Whoever is owed most gets the next slot: shares come out even over any stretch.
        let mut owed: Vec<i64> = vec![0; self.works.len()];
        let mut slots = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            for (owed, (_, weight)) in owed.iter_mut().zip(&self.works) {
                *owed += i64::from((*weight).max(1));
            }
            let most = (0..owed.len()).rev().max_by_key(|place| owed[*place]).unwrap_or(0);
            owed[most] -= sum as i64;
            slots.push(self.works[most].0);
        }
        slots
    }
}

fn element(address: SocketAddr) -> Value {
    json!({ "concat": [address.ip().to_string(), address.port()] })
}

/// The transaction, as `nft -j` takes it: all of it is done or nothing.
#[must_use]
pub fn transaction(plan: &NftPlan, wanted: &Wanted) -> String {
    let (family, table) = (&plan.family, &plan.table);
    let mut commands = Vec::new();
    let mut exchange = |kind: &str, name: &str, elements: Vec<Value>| {
        let all = json!({ "family": family, "table": table, "name": name });
        commands.push(json!({ "flush": { kind: all } }));
        if !elements.is_empty() {
            let some = json!({ "family": family, "table": table, "name": name, "elem": elements });
            commands.push(json!({ "add": { "element": some } }));
        }
    };
    if let Some(map) = &plan.map {
        let slots = wanted.slots(plan.slots).into_iter().enumerate();
        exchange("map", map, slots.map(|(slot, it)| json!([slot, element(it)])).collect());
    }
    if let Some(set) = &plan.set {
        exchange("set", set, wanted.works.iter().map(|(it, _)| element(*it)).collect());
    }
    if let Some(cut) = &plan.cut {
        exchange("set", cut, wanted.cut.iter().map(|it| element(*it)).collect());
    }
    json!({ "nftables": commands }).to_string()
}

/// The question by which it is read back.
#[must_use]
pub fn question(plan: &NftPlan) -> String {
    let (family, table) = (&plan.family, &plan.table);
    json!({ "nftables": [{ "list": { "table": { "family": family, "name": table } } }] })
        .to_string()
}

/// Whether the answer to [`question`] says what was wanted.
///
/// # Errors
/// What differs, for people.
pub fn verify(plan: &NftPlan, wanted: &Wanted, answer: &[u8]) -> Result<(), String> {
    let answer: Value =
        serde_json::from_slice(answer).map_err(|error| format!("nft said no JSON: {error}"))?;
    let items = answer["nftables"].as_array().ok_or("nft said nothing of a ruleset")?;
    let held = |kind: &str, name: &str| {
        let found = items.iter().find(|item| item[kind]["name"] == name);
        let found = found.ok_or_else(|| format!("there is no {kind} {name}"))?;
        let elements = found[kind]["elem"].as_array().map_or(&[][..], Vec::as_slice);
        Ok::<BTreeSet<String>, String>(elements.iter().map(ToString::to_string).collect())
    };
    let judge = |kind: &str, name: &Option<String>, wanted: BTreeSet<String>| match name {
        Some(name) if held(kind, name)? != wanted => {
            Err(format!("{kind} {name} does not hold what was put into it"))
        }
        _ => Ok(()),
    };
    let slots = wanted.slots(plan.slots).into_iter().enumerate();
    let slots = slots.map(|(slot, it)| json!([slot, element(it)]).to_string());
    judge("map", &plan.map, slots.collect())?;
    let works = wanted.works.iter().map(|(it, _)| element(*it).to_string());
    judge("set", &plan.set, works.collect())?;
    judge("set", &plan.cut, wanted.cut.iter().map(|it| element(*it).to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn plan() -> NftPlan {
        NftPlan {
            family: "ip".into(),
            table: "g".into(),
            map: Some("web".into()),
            slots: 4,
            set: Some("web_in".into()),
            cut: Some("web_cut".into()),
        }
    }

    fn wanted() -> Wanted {
        let (a, b) = (at("10.0.0.1:80"), at("10.0.0.2:80"));
        Wanted { works: vec![(a, 3), (b, 1)], cut: vec![at("10.0.0.3:80")], instead: None }
    }

    #[test]
    fn slots_are_shared_out_by_weight() {
        let (a, b) = (at("10.0.0.1:80"), at("10.0.0.2:80"));
        assert_eq!(wanted().slots(4), [a, a, b, a]);
        let many = wanted().slots(64);
        assert_eq!(many.iter().filter(|it| **it == a).count(), 48);
        assert_eq!(Wanted::default().slots(64), []);
        let instead = Wanted { instead: Some(b), ..Wanted::default() };
        assert_eq!(instead.slots(3), [b, b, b]);
    }

    #[test]
    fn a_transaction_exchanges_all_at_once() {
        assert_eq!(
            transaction(&NftPlan { slots: 2, ..plan() }, &wanted()),
            concat!(
                r#"{"nftables":[{"flush":{"map":{"family":"ip","name":"web","table":"g"}}},"#,
                r#"{"add":{"element":{"elem":[[0,{"concat":["10.0.0.1",80]}],[1,{"concat":["10.0.0.1",80]}]],"#,
                r#""family":"ip","name":"web","table":"g"}}},"#,
                r#"{"flush":{"set":{"family":"ip","name":"web_in","table":"g"}}},"#,
                r#"{"add":{"element":{"elem":[{"concat":["10.0.0.1",80]},{"concat":["10.0.0.2",80]}],"#,
                r#""family":"ip","name":"web_in","table":"g"}}},"#,
                r#"{"flush":{"set":{"family":"ip","name":"web_cut","table":"g"}}},"#,
                r#"{"add":{"element":{"elem":[{"concat":["10.0.0.3",80]}],"#,
                r#""family":"ip","name":"web_cut","table":"g"}}}]}"#
            )
        );
        let empty = transaction(&plan(), &Wanted::default());
        assert!(!empty.contains("add"), "{empty}");
    }

    #[test]
    fn what_is_read_back_must_be_what_was_put_in() {
        let slots = r#"[[0,{"concat":["10.0.0.1",80]}],[3,{"concat":["10.0.0.1",80]}],[2,{"concat":["10.0.0.2",80]}],[1,{"concat":["10.0.0.1",80]}]]"#;
        let answer = |web_in: &str| {
            format!(
                r#"{{"nftables":[{{"metainfo":{{}}}},{{"map":{{"name":"web","elem":{slots}}}}},
                {{"set":{{"name":"web_in","elem":[{web_in}]}}}},
                {{"set":{{"name":"web_cut","elem":[{{"concat":["10.0.0.3",80]}}]}}}}]}}"#
            )
        };
        let both = r#"{"concat":["10.0.0.2",80]},{"concat":["10.0.0.1",80]}"#;
        assert_eq!(verify(&plan(), &wanted(), answer(both).as_bytes()), Ok(()));
        let one = r#"{"concat":["10.0.0.2",80]}"#;
        let why = verify(&plan(), &wanted(), answer(one).as_bytes()).expect_err("one is missing");
        assert_eq!(why, "set web_in does not hold what was put into it");
        for text in ["", "{}", r#"{"nftables":[]}"#] {
            assert!(verify(&plan(), &wanted(), text.as_bytes()).is_err(), "{text}");
        }
    }
}
