//! Limits layer by layer, and what they are judged on.

use giveover_core::policy::{Destination, FailoverMode, Limits};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::super::plan::*;
use super::plan_of;

fn service(text: &str) -> ServicePlan {
    plan_of(text).services.remove(0)
}

fn source<'s>(service: &'s ServicePlan, key: &str) -> &'s str {
    service.sources.iter().find(|(name, _)| *name == key).map_or("?", |(_, source)| source)
}

// req 0.17 1.17
#[test]
fn each_limit_is_of_the_uppermost_layer_that_has_it_and_remembers_which() {
    let web = service(
        r#"
[policy.default]
thorough_probe_interval = "11s"
probe_timeout = "4s"
[policy.base]
probe_timeout = "5s"
retry_interval = "20m"
retry_count = -1
[policy.slow]
like = "base"
retry_interval = "30m"
[service.web]
start = ["/bin/web"]
check.page = "http://127.0.0.1/"
policy = { like = "slow", stop_timeout = "7s" }
"#,
    );
    let limits = web.policy.limits();
    assert_eq!(limits.thorough_probe_interval, Span::from_secs(11));
    assert_eq!(limits.probe_timeout, Span::from_secs(5));
    assert_eq!(limits.retry_interval, Span::from_secs(1800));
    assert_eq!(limits.retry_count, None);
    assert_eq!(limits.stop_timeout, Span::from_secs(7));
    assert_eq!(limits.start_timeout, Limits::DEFAULT.start_timeout);
    assert_eq!(source(&web, "thorough_probe_interval"), "policy default");
    assert_eq!(source(&web, "probe_timeout"), "policy base");
    assert_eq!(source(&web, "retry_interval"), "policy slow");
    assert_eq!(source(&web, "stop_timeout"), "service web");
    assert_eq!(source(&web, "start_timeout"), "built in");
    assert_eq!(web.checks[0].timeout, Span::from_secs(5));
}

#[test]
fn a_preset_is_above_the_default_and_under_the_named_policy() {
    let with = |policy: &str| {
        service(&format!(
            "[policy.default]\nprobe_timeout = \"3s\"\nretry_count = 5\n\
             [policy.mine]\nretry_count = 4\n\
             [service.fonts]\npreset = \"xfnts\"\naddress = \"127.0.0.1\"\nstart = [\"xfs\"]\n{policy}"
        ))
    };
    let plain = with("");
    assert_eq!(plain.policy.limits().probe_timeout, Span::from_secs(30));
    assert_eq!(plain.policy.limits().retry_count, Some(2));
    assert_eq!(source(&plain, "retry_count"), "preset xfnts");
    let named = with("policy = \"mine\"");
    assert_eq!(named.policy.limits().retry_count, Some(4));
    assert_eq!(source(&named, "retry_count"), "policy mine");
    assert_eq!(with("policy = \"default\"").policy.limits().retry_count, Some(5));
}

#[test]
fn what_the_schema_calls_a_default_is_one() {
    let written: String = super::super::schema::POLICY
        .iter()
        .filter(|key| !key.default.is_empty())
        .map(|key| format!("{} = {}\n", key.name, key.default.split(';').next().unwrap_or("")))
        .collect();
    let with = |policy: &str| {
        service(&format!("{policy}\n[service.web]\nstart = [\"w\"]\ncheck.x = \"http://h/\"\n"))
    };
    let spelled = with(&format!("[policy.default]\n{written}"));
    assert_eq!(spelled.policy, with("").policy);
    assert_eq!(spelled.policy.limits(), &Limits::DEFAULT);
    assert!(spelled.sources.iter().all(|(_, source)| source == "policy default"));
}

#[test]
fn every_policy_may_be_like_the_default() {
    let text = "[policy.slow]\nlike = \"default\"\nretry_count = 7\n\
                [service.web]\nunit = \"w.service\"\npolicy = \"slow\"\n";
    assert_eq!(service(text).policy.limits().retry_count, Some(7));
}

#[test]
fn unlimited_has_a_number_and_a_word() {
    for written in ["-1", "\"unlimited\""] {
        let text = format!(
            "[service.web]\nunit = \"w.service\"\ncheck.x = \"http://h/\"\n\
             policy = {{ retry_count = {written}, restart_delay = \"5s\", combine = \"sum\" }}"
        );
        let web = service(&text);
        assert_eq!(web.policy.limits().retry_count, None);
        assert_eq!(web.policy.limits().restart_delay.len(), 1);
        assert_eq!(web.combine, Combine::Sum);
    }
}

#[test]
fn a_unit_has_systemds_time_outs_until_the_file_says_otherwise() {
    let text = "[service.web]\nunit = \"w.service\"\ncheck.x = \"http://h/\"\n";
    let web = service(text);
    assert_eq!(web.policy.limits().start_timeout, Span::from_secs(90));
    assert_eq!(source(&web, "stop_timeout"), "systemd's default");
    let web = service(&format!("{text}policy = {{ start_timeout = \"5s\" }}"));
    assert_eq!(web.policy.limits().start_timeout, Span::from_secs(5));
    assert_eq!(source(&web, "start_timeout"), "service web");
}

#[test]
fn what_is_only_watched_is_logged_or_given_over_at_once() {
    let ground = "[giveover]\ncommand = [\"/bin/hand-over\"]\n";
    let text = format!("{ground}[service.web]\ncheck.x = \"http://h/\"\n");
    let web = service(&text);
    assert_eq!(web.policy.limits().failover_mode, FailoverMode::LogOnly);
    assert_eq!(web.giveover, GoesTo::Nobody);
    assert_eq!(source(&web, "failover_mode"), "watched only");
    let web = service(&format!("{text}giveover = \"command\""));
    assert_eq!(web.policy.limits().retry_count, Some(0));
    assert_eq!(web.policy.limits().failover_mode, FailoverMode::Soft);
    assert!(web.policy.gives_over() && web.run == Run::Watched);
}

#[test]
fn the_giveover_is_the_command_if_there_is_one() {
    let text = "[service.web]\nunit = \"w.service\"\ncheck.x = \"http://h/\"\n";
    assert_eq!(service(text).giveover, GoesTo::Nobody);
    let with = format!("[giveover]\ncommand = [\"/bin/hand-over\"]\n{text}");
    assert_eq!(service(&with).giveover, GoesTo::Command);
    assert_eq!(service(&with).policy.scope().destination, Destination::Elsewhere);
    assert_eq!(service(&format!("{with}giveover = \"none\"")).giveover, GoesTo::Nobody);
}

#[test]
fn limits_are_judged_on_what_the_checks_can_find() {
    let scope = |text: &str| {
        let text = format!("[service.web]\nunit = \"w.service\"\n{text}");
        *service(&text).policy.scope()
    };
    let weight = |value| Weight::new(value).expect("a weight");
    let none = scope("");
    assert_eq!((none.smallest, none.heaviest, none.deaths), (Weight::COMPLETE, None, true));
    let observed = scope("check.a = { url = \"http://h/\", weight = 3, observe = true }");
    assert_eq!((observed.smallest, observed.heaviest), (Weight::COMPLETE, None));
    let three = "check.a = { url = \"http://h/\", weight = 20 }\n\
                 check.b = { url = \"http://h/\", weight = 30 }\n\
                 check.c = { url = \"http://h/\", weight = 40 }\n";
    assert_eq!(scope(three).heaviest, Some(weight(40)));
    assert_eq!(scope(three).smallest, weight(20));
    let sum = format!("{three}policy = {{ combine = \"sum\" }}\n");
    assert_eq!(scope(&sum).heaviest, Some(weight(90)));
    // One rung of a ladder fails at a time.
    assert_eq!(scope(&format!("{sum}ladder = [\"a\", \"b\"]")).heaviest, Some(weight(70)));
    let process = scope("check.a = \"process\"");
    assert_eq!((process.smallest, process.heaviest), (Weight::COMPLETE, Some(Weight::COMPLETE)));
    let sun = scope("check.a = { command = [\"x\"], exit = \"weight\" }");
    assert_eq!((sun.smallest, sun.heaviest), (Weight::LEAST, Some(Weight::COMPLETE)));
}

#[test]
fn hosts_have_their_defaults() {
    let host = plan_of("").host;
    assert!(!host.observe && host.trusted.is_empty() && !host.node.is_empty());
    assert_eq!(host.actions, ActionBudget { count: 20, per: Span::from_secs(3600) });
    let fault = LocalFault { share: 50, least: 3, within: Span::from_secs(120) };
    assert_eq!(host.local_fault, fault);
    let host = plan_of("host.trusted = [\"tcp://10.0.0.53:53\"]\nhost.node = \"gw-1\"").host;
    assert_eq!((&*host.node, &*host.trusted[0].name), ("gw-1", "tcp://10.0.0.53:53"));
}
