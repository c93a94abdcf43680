//! Checks as they are written, and what they become.

use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::super::plan::*;
use super::super::talk::{BannerPlan, Greets, Talk};
use super::plan_of;

/// The checks of one service whose table goes on with `text`.
fn checks(text: &str) -> Vec<CheckPlan> {
    let text = format!("[service.web]\nunit = \"web.service\"\n{text}");
    plan_of(&text).services.remove(0).checks.into_vec()
}

fn check(text: &str) -> CheckPlan {
    checks(text).remove(0)
}

/// `host:port` of each target.
fn targets(check: &CheckPlan) -> Vec<String> {
    let words = |target: &Target| match &target.host {
        Host::Address(address) => format!("{address}:{}", target.port),
        Host::Name(name) | Host::Socket(name) => format!("{name}:{}", target.port),
    };
    check.targets.iter().map(words).collect()
}

fn http(check: CheckPlan) -> HttpPlan {
    match &check.kind {
        Kind::Http(http) => (**http).clone(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn a_target_is_the_short_form_of_a_table() {
    let short = check("check.a = \"tcp://10.0.0.1:80\"");
    assert_eq!(short, check("check.a = { url = \"tcp://10.0.0.1:80\" }"));
    assert_eq!(short, check("check.a = { kind = \"tcp\", address = \"10.0.0.1:80\" }"));
    assert_eq!(short, check("check.a.url = \"tcp\"\naddress = \"10.0.0.1:80\""));
    assert_eq!(short, check("check.a = \"tcp\"\naddress = [\"10.0.0.1:80\"]"));
    assert_eq!(short.timeout, Span::from_secs(10));
    assert_eq!(short.weights, Weights::DEFAULT);
    assert!(!short.observe && short.every.is_none());
}

#[test]
fn the_url_says_what_is_asked_and_the_address_where() {
    let both =
        check("check.a = { url = \"http://www.example.org/x?y\", address = \"127.0.0.1:81\" }");
    assert_eq!(targets(&both), ["127.0.0.1:81"]);
    let plan = http(both);
    assert_eq!((&*plan.host, &*plan.path), ("www.example.org", "/x?y"));
    let port =
        check("check.a = { url = \"http://www.example.org:8080\", address = \"127.0.0.1\" }");
    assert_eq!(targets(&port), ["127.0.0.1:8080"]);
    assert_eq!(&*http(port).host, "www.example.org:8080");
    assert_eq!(&*http(check("check.a = \"http://h:80?q\"")).host, "h");
    assert_eq!(&*http(check("check.a = \"http://h:80?q\"")).path, "/?q");
    assert_eq!(&*http(check("check.a = \"http\"\naddress = \"[::1]:81\"")).host, "[::1]:81");
}

// req 1.116 1.117
#[test]
fn every_network_resource_is_asked_at_every_port() {
    let written =
        "network_resources_used = [\"10.0.0.1\", \"::1\"]\nport_list = [80, \"81/tcp\"]\n";
    let all = check(&format!("{written}check.a = \"http\""));
    assert_eq!(targets(&all), ["10.0.0.1:80", "10.0.0.1:81", "::1:80", "::1:81"]);
}

// req 0.21
#[test]
fn an_x_font_server_is_asked_at_its_first_port_only() {
    let written = "network_resources_used = [\"10.0.0.1\", \"::1\"]\nport_list = [7100, 7101]\n";
    let first = check(&format!("{written}check.a = \"xfnts\""));
    assert_eq!(targets(&first), ["10.0.0.1:7100", "::1:7100"]);
    assert_eq!(targets(&check("check.a = \"xfnts://h\"")), ["h:7100"]);
}

#[test]
fn an_empty_list_of_addresses_is_kept_as_a_check_that_cannot_be_measured() {
    for empty in ["network_resources_used = []", "address = []", "address = \"h\"\nport_list = []"]
    {
        let check = check(&format!("{empty}\ncheck.a = {{ url = \"tcp\", expect = \"x\" }}"));
        assert!(check.asks_addresses() && check.targets.is_empty(), "{empty}");
    }
    assert!(!check("check.a = { command = [\"x\"] }").asks_addresses());
}

#[test]
fn http_takes_statuses_by_number_and_by_class() {
    let plan = http(check(
        "check.a = { url = \"http://h/\", expect = [200, \"3xx\"], method = \"HEAD\", cap = \"1KiB\" }",
    ));
    assert_eq!(plan.expect, [(200, 200), (300, 399)]);
    assert_eq!((plan.method, plan.cap), (Method::Head, 1024));
    let plan = http(check("check.a = { url = \"http://h/\", expect = 204, body = \"ok\" }"));
    assert_eq!((plan.expect, plan.cap), (vec![(204, 204)], 65_536));
    assert_eq!(plan.body.as_deref(), Some(&b"ok"[..]));
    assert_eq!(http(check("check.a = \"http://h/\"")).expect, [(200, 299), (300, 399)]);
}

#[test]
fn tcp_sends_and_expects_with_escapes() {
    let check =
        check("check.a = { url = \"tcp://h:1\", send = \"PING\\r\\n\", expect = \"+PONG\" }");
    let Kind::Tcp { send, expect } = &check.kind else { panic!("a tcp check") };
    assert_eq!(send.as_deref(), Some(&b"PING\r\n"[..]));
    assert_eq!(expect.as_deref(), Some(&b"+PONG"[..]));
}

#[test]
fn a_command_has_a_short_and_a_long_form_and_three_conventions_of_exits() {
    let short = check("check.a = { command = [\"/bin/x\", \"$SERVICE\"] }");
    assert_eq!(short, check("check.a = { kind = \"command\", argv = [\"/bin/x\", \"$SERVICE\"] }"));
    assert_eq!(short, check("check.a.command = [\"/bin/x\", \"$SERVICE\"]"));
    let exit = |written: &str| {
        let text = format!("check.a = {{ command = [\"x\"], exit = {written}, missing = 50 }}");
        match &check(&text).kind {
            Kind::Command(plan) if plan.missing == Some(Weight::HALF) => plan.exit.clone(),
            kind => panic!("{kind:?}"),
        }
    };
    assert_eq!(exit("\"weight\""), ExitTable::Weight);
    assert_eq!(exit("\"plugin\""), ExitTable::Plugin);
    let listed = [
        (0, ExitMeaning::Weighs(Weight::LEAST)),
        (2, ExitMeaning::Healthy),
        (75, ExitMeaning::Unmeasured),
        (201, ExitMeaning::Immediate),
    ];
    assert_eq!(
        exit("{ 201 = \"immediate\", 2 = \"ok\", 75 = \"unmeasured\", 0 = 1 }"),
        ExitTable::Listed(listed.to_vec())
    );
}

#[test]
fn weights_are_the_kinds_then_the_checks_then_the_phases() {
    let weight = |value| Weight::new(value).expect("a weight");
    let check = check("check.a = { url = \"tcp://h:1\", weight = 30, weights = { connect = 90 } }");
    assert_eq!(check.weights.connect, weight(90));
    assert_eq!(check.weights.close, weight(30));
    assert_eq!(check.weights.resolve, None);
    assert_eq!((check.smallest(), check.heaviest()), (weight(30), weight(90)));
    let named =
        super::checks::check("check.a = { url = \"tcp://h:1\", weights = { resolve = 10 } }");
    assert_eq!(named.smallest(), weight(10));
    let there = "check.a = { url = \"tcp://127.0.0.1:1\", weights = { resolve = 10 } }";
    assert_eq!(super::checks::check(there).smallest(), Weight::HALF);
}

#[test]
fn the_sample_halves_what_the_command_finds() {
    let check = check("check.a = \"xfnts://h\"");
    assert_eq!(check.weights.connect, Weight::COMPLETE);
    assert_eq!(check.weights.close, Weight::HALF);
    assert_eq!(check.weights.exit, Weight::HALF);
}

#[test]
fn a_ladder_names_checks_by_their_place() {
    let text = "[service.web]\nunit = \"web.service\"\ncheck.port = \"tcp://h:1\"\n\
                check.page = \"http://h/\"\ncheck.other = \"http://h/\"\nladder = [\"page\", \"port\"]";
    assert_eq!(plan_of(text).services[0].ladder, [1, 0]);
}

fn talk(text: &str) -> Talk {
    match &check(text).kind {
        Kind::Talk(talk) => (**talk).clone(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn kinds_that_speak_a_protocol_have_a_usual_port() {
    for (kind, port) in [
        ("dns", 53),
        ("ftp", 21),
        ("telnet", 23),
        ("smtp", 25),
        ("pop3", 110),
        ("nntp", 119),
        ("imap", 143),
        ("ldap", 389),
        ("mqtt", 1883),
        ("postgres", 5432),
        ("redis", 6379),
    ] {
        assert!(Talk::KINDS.contains(&kind));
        let plan = check(&format!("check.a = \"{kind}://h\""));
        assert_eq!((plan.kind.word(), targets(&plan)), (kind, vec![format!("h:{port}")]));
        let bare = check(&format!("check.a = \"{kind}\"\naddress = \"[::1]:9\""));
        assert_eq!(targets(&bare), ["::1:9"]);
        assert_eq!(bare.weights, Weights::DEFAULT);
        let weighed = check(&format!("check.a = {{ url = \"{kind}://h\", weights.answer = 100 }}"));
        assert_eq!(weighed.heaviest(), Weight::COMPLETE);
        assert_eq!(weighed.smallest(), Weight::HALF);
    }
}

#[test]
fn kinds_that_speak_a_protocol_have_keys_of_their_own() {
    let banner = |greets, expect: &[(u16, u16)], ehlo: Option<&str>| {
        Talk::Banner(BannerPlan { greets, expect: expect.to_vec(), ehlo: ehlo.map(Into::into) })
    };
    assert_eq!(talk("check.a = \"smtp://h\""), banner(Greets::Smtp, &[(220, 220)], None));
    let ehlo = talk("check.a = { url = \"smtp://h\", ehlo = \"a.b\", expect = [\"2xx\", 554] }");
    assert_eq!(ehlo, banner(Greets::Smtp, &[(200, 299), (554, 554)], Some("a.b")));
    assert_eq!(
        talk("check.a = \"nntp://h\""),
        banner(Greets::Nntp, &[(200, 200), (201, 201)], None)
    );
    assert_eq!(talk("check.a = \"ftp://h\""), banner(Greets::Ftp, &[(220, 220)], None));
    let imap = talk("check.a = { url = \"imap://h\", preauth = true }");
    assert_eq!(imap, Talk::Imap { preauth: true });
    let redis = talk("check.a = { url = \"redis://h\", expect = [\"PONG\", \"-NOAUTH\"] }");
    assert_eq!(redis, Talk::Redis { expect: vec![1, 2], login: None });
    let mqtt = talk("check.a = { url = \"mqtt://h\", client = \"me\", expect = [0, 5] }");
    assert_eq!(mqtt, Talk::Mqtt { client: "me".into(), expect: vec![(0, 0), (5, 5)], login: None });
}

// req 2.5
#[test]
fn directories_and_databases_are_asked_for_what_the_url_names() {
    let ldap = |base: Option<&str>, code| Talk::Ldap {
        base: base.map(Into::into),
        expect: vec![(code, code)],
        login: None,
    };
    assert_eq!(talk("check.a = \"ldap://h\""), ldap(None, 0));
    assert_eq!(talk("check.a = \"ldap://h/dc=a,dc=b\""), ldap(Some("dc=a,dc=b"), 0));
    assert_eq!(talk("check.a = { url = \"ldap://h\", base = \"\" }"), ldap(Some(""), 0));
    assert_eq!(talk("check.a = { url = \"ldap://h/\", expect = 48 }"), ldap(Some(""), 48));
    let asks = |text: &str| match talk(text) {
        Talk::Postgres(plan) => [plan.user, plan.database, plan.query].map(String::from),
        other => panic!("{other:?}"),
    };
    assert_eq!(asks("check.a = \"postgres://h\""), ["postgres", "postgres", "SELECT 1"]);
    assert_eq!(asks("check.a = \"postgres://me@h:1/d\""), ["me", "d", "SELECT 1"]);
    assert_eq!(asks("check.a = \"postgres://me@h/\""), ["me", "postgres", "SELECT 1"]);
    let written = asks(
        "check.a = { url = \"postgres://h\", user = \"u\", database = \"d\", query = \"\", \
         expect = [\"53300\"] }",
    );
    assert_eq!(written, ["u", "d", ""]);
}

#[test]
fn name_servers_are_asked_for_a_name_of_a_type() {
    let dns = |text: &str| match talk(text) {
        Talk::Dns(plan) => plan,
        other => panic!("{other:?}"),
    };
    let root = dns("check.a = \"dns://h\"");
    assert_eq!((&*root.question, &*root.expect), (&b"\0\0\x06\0\x01"[..], &[(0, 0)][..]));
    assert!(!root.tcp);
    let name = dns("check.a = \"dns://h/www.example.org.\"");
    assert_eq!(&*name.question, b"\x03www\x07example\x03org\0\0\x01\0\x01");
    assert_eq!(dns("check.a = { url = \"dns://h\", name = \".\" }").question, root.question);
    let full =
        dns("check.a = { url = \"dns://h\", name = \"a\", type = \"mx\", transport = \"tcp\", \
         expect = [\"NOERROR\", \"nxdomain\"] }");
    assert_eq!((&*full.question, full.tcp), (&b"\x01a\0\0\x0f\0\x01"[..], true));
    assert_eq!(full.expect, [(0, 0), (3, 3)]);
    let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
    assert_eq!(dns(&format!("check.a = \"dns://h/{longest}\"")).question.len(), 255 + 4);
}

#[test]
fn a_datagram_is_a_byte_unless_it_is_said() {
    let plain = Talk::Udp { send: [0].into(), expect: None };
    assert_eq!(talk("check.a = \"udp://h:9\""), plain);
    let both = talk("check.a = { url = \"udp://h:9\", send = \"a\", expect = \"b\" }");
    assert_eq!(both, Talk::Udp { send: b"a".as_slice().into(), expect: Some((*b"b").into()) });
}
