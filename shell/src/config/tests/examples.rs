//! The examples that are shipped, and the screens of the documents.

use std::process::{Command, Stdio};

use super::*;

const EXAMPLES: [&str; 10] = [
    "nginx",
    "redis",
    "two-services",
    "xfnts",
    "command",
    "board",
    "nfs",
    "postgres",
    "haproxy-pool",
    "pair",
];

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.toml"))
}

#[test]
fn every_example_can_be_run_and_has_no_warnings() {
    for name in EXAMPLES {
        let loaded = load(&path_of(name)).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        assert!(!loaded.plan.services.is_empty() || !loaded.plan.pools.is_empty());
    }
    let shipped = std::fs::read_dir(path_of("x").parent().expect("a directory"));
    let ours = |path: &Path| path.extension().is_some_and(|end| end == "toml");
    let shipped = shipped.expect("the examples").filter_map(Result::ok);
    let shipped = shipped.filter(|entry| ours(&entry.path())).count();
    assert_eq!(shipped, EXAMPLES.len(), "an example is not tested");
}

#[test]
fn an_example_means_the_same_however_it_is_read() {
    for name in EXAMPLES {
        let path = path_of(name);
        let text = std::fs::read_to_string(&path).expect("an example");
        let from_file = load(&path).unwrap_or_else(|errors| panic!("{errors}")).plan;
        let from_text = plan_of(&text);
        let ends = plan_of(&text.replace('\n', "\r\n"));
        for other in [from_text, ends] {
            assert!(diff(&from_file, &other).is_empty(), "{}", diff(&from_file, &other));
            assert_eq!(from_file.services, other.services);
            assert_eq!(from_file.pools, other.pools);
            assert_eq!(from_file.host, other.host);
        }
    }
}

#[test]
fn a_plan_can_be_packed() {
    for name in EXAMPLES {
        let plan = load(&path_of(name)).unwrap_or_else(|errors| panic!("{errors}")).plan;
        let mut again = pack::pack(&plan).as_deref().and_then(pack::unpack).expect("its bytes");
        for (service, before) in again.services.iter_mut().zip(&plan.services) {
            service.terms_mut().sources = before.sources.clone();
        }
        assert_eq!(again, plan);
    }
}

/// What we write keeps to TOML 1.0, because that is what other tools read.
#[test]
fn pythons_reader_reads_the_examples_and_presets() {
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/presets");
    let presets = std::fs::read_dir(presets).expect("the presets");
    let presets = presets.map(|entry| entry.expect("a preset").path());
    let files: Vec<PathBuf> = EXAMPLES.into_iter().map(path_of).chain(presets).collect();
    let python = |program: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", program]).args(&files).stdin(Stdio::null()).output()
    };
    match python("import tomllib") {
        Ok(there) if there.status.success() => {}
        _ => return println!("skipped: pythons_reader: python3: none with tomllib here"),
    }
    let read = "import sys, tomllib\nfor name in sys.argv[1:]: tomllib.load(open(name, 'rb'))";
    let output = python(read).expect("it ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Thousands of services are one list after another, never each against each.
#[test]
fn ten_thousand_services_are_read_in_a_moment() {
    let service = |at: u32| {
        let needs = if at == 0 { String::new() } else { format!("needs = [\"s{}\"]\n", at - 1) };
        format!(
            "[service.s{at}]\nunit = \"s{at}.service\"\n{needs}\
             check.page = \"http://10.{}.{}.{}/\"\n",
            at >> 16,
            at >> 8 & 255,
            at & 255
        )
    };
    let text: String = (0..10_000).map(service).collect();
    // The time of this thread alone: what else the machine does is nobody's fault here.
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
    let started = clock();
    assert_eq!(plan_of(&text).services.len(), 10_000);
    let took = clock() - started;
    assert!(took < 20, "took {took} s; unoptimised it takes about one");
}

/// INTERFACES 3.8, but for the line that says what goes on.
#[test]
fn errors_look_as_the_documents_show_them() {
    let text = "# nginx\n[service.web]\nunit       = \"nginx.service\"\n\
                check.page = { url = \"http://127.0.0.1/health\", expcet = [200, 204] }\n\
                \n\n\n[policy.slow]\nretry_interval = 300\n";
    let expected = r#"/etc/giveover/giveover.toml:4:49: error: unknown key `expcet` in service.web.check.page
  4 | check.page = { url = "http://127.0.0.1/health", expcet = [200, 204] }
    |                                                 ^^^^^^ did you mean `expect`?
/etc/giveover/giveover.toml:9:18: error: retry_interval: a duration needs a unit: "300s"
  9 | retry_interval = 300
    |                  ^^^
"#;
    let errors = load_str("/etc/giveover/giveover.toml", text).expect_err("refused");
    assert_eq!(errors.to_string(), expected);
    assert_eq!(errors.summary(), "2 errors");
    let first = "/etc/giveover/giveover.toml:4:49: unknown key `expcet` in service.web.check.page";
    assert_eq!(errors.first().as_deref(), Some(first));
}

#[test]
fn the_schema_names_every_key_and_nothing_else_is_known() {
    let text = schema::text();
    for table in schema::tables() {
        for key in table.keys {
            assert!(text.contains(&format!("\n  {} = ", key.name)), "{}", key.name);
            assert!(!key.about.is_empty() && !key.takes.is_empty(), "{}", key.name);
        }
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// Every key of every example is known to it, at its place.
#[test]
fn the_json_schema_knows_what_the_examples_hold() {
    let schema = schema::json();
    let examples =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).expect("examples");
    let mut seen = 0;
    for path in examples.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let file: toml::Table = text.parse().expect("TOML");
        let unknown = unknown_keys(&schema, &toml::Value::Table(file), "");
        assert_eq!(unknown, [""; 0], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 5, "{seen} examples");
    let wrong: toml::Table = "[service.a]\nchek.x = \"tcp://h:1\"\n".parse().expect("TOML");
    assert_eq!(unknown_keys(&schema, &toml::Value::Table(wrong), ""), [".service.a.chek"]);
}

fn unknown_keys(schema: &serde_json::Value, value: &toml::Value, place: &str) -> Vec<String> {
    match value {
        toml::Value::Table(table) => {
            let all = schema["anyOf"].as_array();
            let schema = all
                .and_then(|all| all.iter().find(|one| one["type"] == "object"))
                .unwrap_or(schema);
            let inner = |(key, value): (&String, &toml::Value)| {
                let place = format!("{place}.{key}");
                let known = schema["properties"]
                    .get(key)
                    .or_else(|| schema.get("additionalProperties").filter(|more| more.is_object()));
                match known {
                    Some(known) => unknown_keys(known, value, &place),
                    None if schema.get("properties").is_none() => Vec::new(),
                    None => vec![place],
                }
            };
            table.iter().flat_map(inner).collect()
        }
        toml::Value::Array(rows) if schema.get("items").is_some() => {
            rows.iter().flat_map(|row| unknown_keys(&schema["items"], row, place)).collect()
        }
        _ => Vec::new(),
    }
}
