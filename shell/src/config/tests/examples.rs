//! The examples that are shipped, and the screens of the documents.

use std::process::{Command, Stdio};

use super::*;

const EXAMPLES: [&str; 5] = ["nginx", "redis", "two-services", "xfnts", "command"];

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.toml"))
}

#[test]
fn every_example_can_be_run_and_has_no_warnings() {
    for name in EXAMPLES {
        let loaded = load(&path_of(name)).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        assert!(!loaded.plan.services.is_empty());
    }
    let shipped = std::fs::read_dir(path_of("x").parent().expect("a directory"));
    assert_eq!(shipped.expect("the examples").count(), EXAMPLES.len(), "an example is not tested");
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
            assert_eq!(from_file.host, other.host);
        }
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
        _ => return println!("skipped: there is no python3 with tomllib here"),
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
    let started = std::time::Instant::now();
    assert_eq!(plan_of(&text).services.len(), 10_000);
    let took = started.elapsed();
    assert!(took.as_secs() < 20, "took {took:?}; unoptimised it takes about one second");
}
