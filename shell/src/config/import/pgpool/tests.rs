use super::*;

/// The document's example on `server1`, section 3.
const SERVER1: &str = "\
use_watchdog = on
                                    # Activates watchdog
trusted_servers = ''
                                    # (hostA,hostB,hostC,...)
delegate_IP = '133.137.177.222'
                                    # delegate IP address
wd_hostname = 'server1'
wd_port = 9000
                                    # port number for watchdog service
other_pgpool_hostname0 = 'server2'
                                    # Host name or IP address to connect to for other pgpool 0
other_pgpool_port0 = 9999
                                    # Port number for othet pgpool 0
other_wd_port0 = 9000
                                    # Port number for othet watchdog 0
log_statement = on
                                   # Log all statements
backend_hostname0 = 'db1'
";

fn imported(text: &str) -> Imported {
    import("pgpool.conf", text, "here").unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn refuses(text: &str, parts: &[&str]) {
    let errors = import("pgpool.conf", text, "here").expect_err("refused").to_string();
    for part in parts {
        assert!(errors.contains(part), "no `{part}` in:\n{errors}");
    }
}

/// What was written is taken whole, as `giveover check` takes it.
#[track_caller]
fn is_taken(imported: &Imported) {
    let loaded = super::super::super::load_str("made.toml", &imported.text);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}\n{}", imported.text));
    let cluster = loaded.plan.cluster.expect("nodes");
    assert!(cluster.groups[0].everywhere && !cluster.groups[0].checks[0].is_empty());
}

fn became<'i>(imported: &'i Imported, name: &str) -> &'i Became {
    let found = imported.parameters.iter().find(|became| became.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

// req 2.21 2.24 2.26 2.29 2.30 2.31
#[test]
fn the_documents_example_becomes_a_pair() {
    let imported = imported(SERVER1);
    is_taken(&imported);
    for line in [
        "trusted = []",
        "quorum   = \"trusted\"",
        "accept_two_holders = true",
        "interval = \"10s\"",
        "life     = 3",
        "port     = 9000",
        "[node.server1]",
        "[node.server2]",
        "address = \"server2\"",
        "run       = \"all\"",
        "addresses = [\"133.137.177.222/24\"]",
        "interface = \"eth0\"",
        "label     = \"eth0:0\"",
        "check.query = { url = \"postgres://postgres@$NODE:9999/template1\", query = \"SELECT 1\", \
         timeout = \"6s\" }",
        "#   log_statement = 'on': is pgpool-II's own",
        "#   ping_path = '/bin' (default): no program is run",
        "#   1 other parameter is pgpool-II's own",
    ] {
        assert!(imported.text.contains(line), "no `{line}` in:\n{}", imported.text);
    }
}

/// Each parameter of sections 3 and 5 stands there with the value the document prints, and is a
/// key of ours or has a reason.
// req 2.72 2.73 2.74 2.77 2.107 2.108 2.109 2.110 2.111
#[test]
fn every_parameter_of_the_document_has_its_default_and_becomes_something() {
    let without = "use_watchdog = on\ndelegate_IP = '10.0.0.9'\nother_pgpool_hostname0 = 'b'\n";
    let imported = imported(without);
    is_taken(&imported);
    for (name, default) in [
        ("trusted_servers", ""),
        ("wd_hostname", ""),
        ("wd_port", "9000"),
        ("other_pgpool_port0", "9999"),
        ("other_wd_port0", "9000"),
        ("wd_interval", "10"),
        ("wd_life_point", "3"),
        ("wd_lifecheck_query", "SELECT 1"),
        ("ping_path", "/bin"),
        ("ifconfig_path", "/sbin"),
        ("if_up_cmd", "ifconfig eth0:0 inet $_IP_$ netmask 255.255.255.0"),
        ("if_down_cmd", "ifconfig eth0:0 down"),
        ("arping_path", "/usr/sbin"),
        ("arping_cmd", "arping -U $_IP_$ -w 1"),
    ] {
        let became = became(&imported, name);
        assert_eq!((became.value.as_str(), became.default), (default, true), "{name}");
    }
    for name in ["use_watchdog", "delegate_IP", "other_pgpool_hostname0"] {
        assert!(!became(&imported, name).default, "{name}");
    }
    for became in &imported.parameters {
        assert_ne!(became.key.is_some(), became.why.is_some(), "{became:?}");
    }
    assert!(imported.text.contains("[node.here]"), "the name of this machine");
}

/// Values other than the defaults arrive.
// req 2.23
#[test]
fn what_is_set_is_kept() {
    let text = "use_watchdog = yes\ntrusted_servers = 'hostA, 10.0.0.1 ,2001:db8::1'\n\
        delegate_IP = '10.0.0.9'\nwd_hostname = '10.0.0.2'\nwd_port = 9001\nport = 9990\n\
        other_pgpool_hostname0 = 'b'\nother_pgpool_port0 = 9998\nother_wd_port0 = 9002\n\
        other_pgpool_hostname1 = 'c'\nother_wd_port1 = 9001\nother_pgpool_port1 = 9990\n\
        wd_interval = 4\nwd_life_point = 5\nwd_lifecheck_query = 'SELECT \"x\\\\y\"'\n\
        wd_authkey = 'k'\n";
    let imported = imported(text);
    is_taken(&imported);
    for line in [
        "trusted = [\"ping://hostA\", \"ping://10.0.0.1\", \"ping://[2001:db8::1]\"]",
        "quorum   = \"majority\"",
        "interval = \"4s\"",
        "life     = 5",
        "[node.\"10.0.0.2\"]",
        "address = \"b:9002\"",
        "address = \"c\" ",
        "query = \"SELECT \\\"x\\\\y\\\"\"",
        ":9990/template1",
        "timeout = \"3s\"",
        "#   other_pgpool_port0 = '9998': a group's check asks every node at one port",
        "#   wd_authkey = 'k': frames are signed",
    ] {
        assert!(imported.text.contains(line), "no `{line}` in:\n{}", imported.text);
    }
    assert_eq!(became(&imported, "other_pgpool_port1").why, None);
    let key = became(&imported, "other_wd_port0").key.as_deref();
    assert_eq!(key, Some("node.b.address"));
}

/// Commands that do more than set an address are run as they are.
// req 2.106 2.112 2.113
#[test]
fn commands_of_ones_own_are_kept_with_their_paths() {
    let text = SERVER1.to_owned()
        + "ifconfig_path = '/opt/net/'\nif_up_cmd = 'up.sh $_IP_$/24 cost=5$'\n\
           if_down_cmd = '/usr/bin/sudo /opt/down.sh $_IP_$'\narping_path = ''\n";
    let imported = imported(&text);
    is_taken(&imported);
    for line in [
        "addresses = [\"133.137.177.222/32\"]",
        "up        = [\"/opt/net/up.sh\", \"$_IP_$/24\", \"cost=5$$\"]",
        "down      = [\"/usr/bin/sudo\", \"/opt/down.sh\", \"$_IP_$\"]",
        "announce  = [\"arping\", \"-U\", \"$_IP_$\", \"-w\", \"1\"]",
    ] {
        assert!(imported.text.contains(line), "no `{line}` in:\n{}", imported.text);
    }
    assert!(!imported.text.contains("interface ="));
    assert_eq!(became(&imported, "if_up_cmd").key.as_deref(), Some("group.pgpool.up"));
}

#[test]
fn without_the_watchdog_a_service_is_left() {
    let imported = imported("port = 9990\n");
    assert!(!imported.text.contains("[cluster]"), "{}", imported.text);
    let loaded = super::super::super::load_str("made.toml", &imported.text).expect("taken");
    assert_eq!(loaded.plan.services.len(), 1);
    for became in &imported.parameters {
        assert_ne!(became.key.is_some(), became.why.is_some(), "{became:?}");
    }
}

// req 2.58
#[test]
fn what_pgpool_refuses_is_refused_with_its_place() {
    refuses(
        "use_watchdog = on\n",
        &["delegate_IP is missing", "other_pgpool_hostname0 is missing"],
    );
    let with = |more: &str| format!("{SERVER1}{more}\n");
    refuses(&with("wd_interval = 0"), &["wd_interval: `0` is no number 1 to 4000000"]);
    refuses(&with("wd_life_point = 0"), &["wd_life_point"]);
    refuses(&with("wd_port = 70000"), &["pgpool.conf:19:1: error: wd_port: `70000`"]);
    refuses(&with("use_watchdog = maybe"), &["neither on nor off"]);
    refuses(&with("delegate_IP = 'server3'"), &["`server3` is no address"]);
    refuses(&with("delegate_IP = '127.0.0.1'"), &["can belong to no node"]);
    refuses(&with("other_pgpool_hostname0 = 'server1'"), &["`server1` is another node already"]);
    refuses(&with("other_pgpool_hostname2 = 'c'"), &["numbered from 0 on, 1 is next"]);
    refuses(&with("other_wd_port1 = 9000"), &["other_pgpool_hostname1 is missing"]);
    refuses(&with("trusted_servers = 'a b'"), &["`a b` is no host"]);
    refuses(&with("if_up_cmd = 'ifconfig eth0:0 10.0.0.9'"), &["does not say $_IP_$"]);
    refuses(&with("if_down_cmd = ''"), &["names no program"]);
    refuses(&with("wd_port 'open"), &["the quote is not closed"]);
}

/// Whatever a file holds, nothing panics, and what comes out is a configuration.
#[test]
fn torn_files_are_refused_or_taken_never_half() {
    for end in 0..SERVER1.len() {
        if let Ok(imported) = import("pgpool.conf", &SERVER1[..end], "here") {
            if imported.text.contains("[cluster]") {
                is_taken(&imported);
            }
        }
    }
    for byte in 0..=255_u8 {
        let text = format!("use_watchdog = on\nwd_lifecheck_query = 'x{}'\n", char::from(byte));
        let _ = import("pgpool.conf", &(text + &SERVER1[18..]), "here");
    }
}
