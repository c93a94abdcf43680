//! A plan in few bytes, and in few allocations once it is unpacked.
//!
//! Reading a configuration takes some ten times the memory of the plan, in pieces between which
//! the plan would lie. So it is read elsewhere and handed over as bytes, in which what many
//! services have in common stands once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::few::Few;
use super::plan::{
    BoardPlan, CheckPlan, ClusterPlan, GiveoverPlan, HostPlan, Listen, NotifyPlan, Plan, PoolPlan,
    Question, ServicePlan, Targets, Terms,
};

/// A plan as bytes; `None` if it cannot be written down, as with a path that is not UTF-8.
///
/// Where each limit came from is left out: only `check` prints it.
#[must_use]
pub fn pack(plan: &Plan) -> Option<Vec<u8>> {
    let (mut terms, mut questions) = (Table::default(), Table::default());
    let mut check = |check: &CheckPlan| {
        let question = questions.place(&check.question)?;
        Some(PackedCheck { targets: check.targets.clone(), question })
    };
    let trusted = plan.host.trusted.iter().map(&mut check).collect::<Option<_>>()?;
    let members = plan.pools.iter().flat_map(|pool| &pool.members);
    let mut of_member = |checks: &Few<CheckPlan>| checks.iter().map(&mut check).collect();
    let members = members.map(|member| of_member(&member.checks)).collect::<Option<_>>()?;
    let groups = plan.cluster.iter().flat_map(|cluster| &cluster.groups);
    let groups = groups
        .map(|group| group.checks.iter().map(&mut of_member).collect::<Option<_>>())
        .collect::<Option<_>>()?;
    let mut services = Vec::new();
    for service in &plan.services {
        let packed = PackedService {
            name: service.name.clone(),
            checks: service.checks.iter().map(&mut check).collect::<Option<_>>()?,
            terms: terms.place(&service.terms)?,
        };
        services = postcard::to_extend(&packed, services).ok()?;
    }
    let head = Head {
        file: plan.file.clone(),
        included: plan.included.clone(),
        host: HostPlan { trusted: Vec::new(), ..plan.host.clone() },
        trusted,
        giveover: plan.giveover.clone(),
        control: plan.control.clone(),
        board: plan.board.clone(),
        watch: plan.watch.clone(),
        notify: plan.notify.clone(),
        cluster: plan.cluster.clone(),
        terms: terms.items,
        questions: questions.items,
        services: plan.services.len(),
        pools: plan.pools.clone(),
        members,
        groups,
    };
    let mut bytes = postcard::to_stdvec(&head).ok()?;
    bytes.extend_from_slice(&services);
    Some(bytes)
}

/// What [`pack`] made of a plan, as a plan again; `None` if it did not make these bytes.
#[must_use]
pub fn unpack(bytes: &[u8]) -> Option<Plan> {
    let (packed, mut rest): (Head, _) = postcard::take_from_bytes(bytes).ok()?;
    let check = |check: PackedCheck| {
        let question = packed.questions.get(check.question as usize)?.clone();
        Some(CheckPlan { targets: check.targets, question })
    };
    let trusted = packed.trusted.into_iter().map(check).collect::<Option<_>>()?;
    let mut pools = packed.pools;
    let mut checks = packed.members.into_iter();
    for member in pools.iter_mut().flat_map(|pool| &mut pool.members) {
        member.checks = checks.next()?.into_iter().map(check).collect::<Option<_>>()?;
    }
    let mut cluster = packed.cluster;
    let mut of_groups = packed.groups.into_iter();
    for group in cluster.iter_mut().flat_map(|cluster| &mut cluster.groups) {
        let of_nodes = of_groups.next()?.into_iter();
        let of_nodes = of_nodes.map(|checks| checks.into_iter().map(check).collect());
        group.checks = of_nodes.collect::<Option<_>>()?;
    }
    let mut services = Vec::with_capacity(packed.services.min(rest.len()));
    for _ in 0..packed.services {
        let (service, behind): (PackedService, _) = postcard::take_from_bytes(rest).ok()?;
        rest = behind;
        services.push(ServicePlan {
            name: service.name,
            checks: service.checks.into_iter().map(check).collect::<Option<_>>()?,
            terms: packed.terms.get(service.terms as usize)?.clone(),
        });
    }
    rest.is_empty().then_some(Plan {
        file: packed.file,
        included: packed.included,
        host: HostPlan { trusted, ..packed.host },
        giveover: packed.giveover,
        control: packed.control,
        board: packed.board,
        watch: packed.watch,
        notify: packed.notify,
        cluster,
        services,
        pools,
    })
}

/// What stands before the services, which follow one by one: unpacked they take no room twice.
#[derive(Serialize, Deserialize)]
struct Head {
    file: PathBuf,
    included: Vec<PathBuf>,
    host: HostPlan,
    trusted: Vec<PackedCheck>,
    giveover: GiveoverPlan,
    control: Vec<String>,
    board: Option<Box<BoardPlan>>,
    watch: Option<Listen>,
    notify: Vec<NotifyPlan>,
    cluster: Option<Box<ClusterPlan>>,
    terms: Vec<Arc<Terms>>,
    questions: Vec<Arc<Question>>,
    services: usize,
    pools: Vec<PoolPlan>,
    /// The checks of every member of every pool, in their order.
    members: Vec<Few<PackedCheck>>,
    /// The checks of every group as each node is asked, in their order.
    groups: Vec<Vec<Few<PackedCheck>>>,
}

#[derive(Serialize, Deserialize)]
struct PackedService {
    name: Arc<str>,
    checks: Few<PackedCheck>,
    terms: u32,
}

#[derive(Serialize, Deserialize)]
struct PackedCheck {
    targets: Targets,
    question: u32,
}

/// Items that differ, and where each stands. Two are the same when their bytes are.
struct Table<T> {
    items: Vec<Arc<T>>,
    places: HashMap<Vec<u8>, u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Serialize> Table<T> {
    fn place(&mut self, item: &Arc<T>) -> Option<u32> {
        let next = u32::try_from(self.items.len()).ok()?;
        let place = *self.places.entry(postcard::to_stdvec(item).ok()?).or_insert(next);
        if place == next {
            self.items.push(item.clone());
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::plan_of;

    const FILE: &str = r#"
        [host]
        trusted = ["tcp://192.0.2.1:53", "tcp://192.0.2.2:53"]
        [board]
        port = "/dev/giveover-board"
        key = "board.key"
        [watch]
        listen = "127.0.0.1:9709"
        [notify.ops]
        webhook = "https://hooks.example.org/x"
        on = ["giveover", "recovered"]
        repeat = "1h"
        [notify.log]
        command = ["logger", "$SERVICE: $REASON"]
        [service.web]
        check.page = { url = "http://127.0.0.1/", body = "x" }
        check.port = { kind = "tcp", address = ["127.0.0.1:1", "127.0.0.2:1"] }
        [service.db]
        needs = ["web"]
        check.port = "tcp://127.0.0.1:5432"
        [service.mail]
        check.port = "tcp://127.0.0.1:25"
        [service.news]
        check.port = "tcp://127.0.0.1:119"
    "#;

    #[test]
    fn a_plan_comes_out_of_its_bytes_as_it_was_and_says_the_same_once() {
        let mut plan = plan_of(FILE);
        for service in &mut plan.services {
            service.terms_mut().sources = [].into();
        }
        let again = pack(&plan).as_deref().and_then(unpack).expect("its bytes");
        assert_eq!(again, plan);
        let [_, db, mail, news] = &again.services[..] else { panic!("four services") };
        assert!(Arc::ptr_eq(&mail.terms, &news.terms) && !Arc::ptr_eq(&db.terms, &mail.terms));
        assert!(Arc::ptr_eq(&mail.checks[0].question, &news.checks[0].question));
        assert!(Arc::ptr_eq(&db.checks[0].question, &news.checks[0].question));
    }

    #[test]
    fn other_bytes_are_no_plan() {
        let bytes = pack(&plan_of(FILE)).expect("its bytes");
        for end in 0..bytes.len() {
            assert_eq!(unpack(&bytes[..end]), None, "cut at {end}");
        }
    }
}
