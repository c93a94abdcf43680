//! Files that include others, and files that cannot be read.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A directory with `files`, the first of which is loaded.
fn with(files: &[(&str, &str)]) -> (TempDir, Result<Loaded, Report>) {
    let dir = TempDir::new().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let loaded = load(&dir.path().join(files[0].0));
    (dir, loaded)
}

/// What is said about `files`, the directory's name left out.
fn said_of(files: &[(&str, &str)]) -> String {
    let (dir, loaded) = with(files);
    let report = loaded.map_or_else(|errors| errors, |loaded| loaded.warnings);
    format!("{report}{}", report.summary()).replace(&format!("{}/", dir.path().display()), "")
}

const WEB: &str = "[service.web]\nunit = \"web.service\"\ncheck.page = \"http://h/\"\n";

#[test]
fn files_are_included_in_the_order_of_their_names() {
    let (dir, loaded) = with(&[
        (
            "giveover.toml",
            "include = [\"conf.d/*.toml\", \"last.toml\", \"conf.d/a.toml\"]\n[host]\n",
        ),
        ("last.toml", &WEB.replace("web]", "last]")),
        ("conf.d/b.toml", &WEB.replace("web]", "b]")),
        ("conf.d/a.toml", &WEB.replace("web]", "a]")),
        ("conf.d/a.toml~", "="),
        ("conf.d/.hidden.toml", "="),
    ]);
    let plan = loaded.unwrap_or_else(|errors| panic!("{errors}")).plan;
    let names: Vec<&str> = plan.services.iter().map(|service| &*service.name).collect();
    assert_eq!(names, ["a", "b", "last"]);
    assert_eq!(plan.file, dir.path().join("giveover.toml"));
    let read = ["conf.d/a.toml", "conf.d/b.toml", "last.toml"].map(|name| dir.path().join(name));
    assert_eq!(plan.included, read);
}

#[test]
fn a_site_supplies_what_is_missing() {
    let (_dir, loaded) = with(&[
        ("giveover.toml", "include = [\"site.toml\"]\n[service.web]\nunit = \"web.service\"\n"),
        ("site.toml", "host.node = \"a\"\n[service.web]\ncheck.page = \"http://h/\"\n"),
    ]);
    let plan = loaded.unwrap_or_else(|errors| panic!("{errors}")).plan;
    assert_eq!((&*plan.host.node, plan.services[0].checks.len()), ("a", 1));
}

#[test]
fn a_key_given_in_two_files_names_both_places() {
    let said = said_of(&[
        ("giveover.toml", &format!("include = [\"conf.d/*\"]\n{WEB}")),
        ("conf.d/site.toml", "include = [\"x\"]\n[service.web]\nunit = 3\ncheck.page = \"x\"\n"),
        ("conf.d/z.toml", "= 1\n[service]\nweb = 1\n"),
    ]);
    let expected = "\
conf.d/site.toml:1:1: error: include: an included file includes no others
  1 | include = [\"x\"]
    | ^^^^^^^ name them in the main file
conf.d/site.toml:3:1: error: key `service.web.unit` is given twice
  3 | unit = 3
    | ^^^^ first given at giveover.toml:3:1
conf.d/site.toml:4:7: error: key `service.web.check.page` is given twice
  4 | check.page = \"x\"
    |       ^^^^ first given at giveover.toml:4:7
conf.d/z.toml:1:1: error: a key is missing here
  1 | = 1
    | ^
conf.d/z.toml:3:1: error: key `service.web` is given twice
  3 | web = 1
    | ^^^ first given at giveover.toml:2:10
5 errors";
    assert_eq!(said, expected, "\n{said}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let main = "include = [\"missing.toml\", \"dir\", \"none/*.toml\", \"a*/b.toml\"]\n";
    let said = said_of(&[("giveover.toml", main), ("dir/x", "")]);
    let expected = "\
giveover.toml:1:50: error: include: `*` and `?` only in the last part of a path
  1 | include = [\"missing.toml\", \"dir\", \"none/*.toml\", \"a*/b.toml\"]
    |                                                  ^^^^^^^^^^^
missing.toml: error: cannot be read: No such file or directory
  = asked for at giveover.toml:1:12
dir: error: cannot be read: it is not a file
  = asked for at giveover.toml:1:28
3 errors";
    assert_eq!(said, expected, "\n{said}");
}

#[test]
fn the_main_file_must_be_there_and_be_text() {
    assert_eq!(said_of(&[("giveover.toml", "")]), "", "an empty file watches nothing");
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("giveover.toml");
    let error = |path: &Path| load(path).expect_err("an error").to_string();
    assert!(
        error(&path).ends_with("giveover.toml: error: cannot be read: No such file or directory\n")
    );
    fs::write(&path, b"a = 1\nb = \"\xff\"\n").expect("a file");
    assert!(error(&path).ends_with("giveover.toml: error: line 2 is not UTF-8 text\n"));
    assert!(error(dir.path()).ends_with("error: cannot be read: it is not a file\n"));
    let circle = dir.path().join("circle.toml");
    symlink(&circle, &circle).expect("a link");
    assert!(error(&circle).contains("circle.toml: error: cannot be read: "), "{}", error(&circle));
}

#[test]
fn a_preset_beside_the_file_goes_before_ours() {
    let (_dir, loaded) = with(&[
        ("giveover.toml", "[service.s]\npreset = \"redis\"\nunit = \"s.service\"\n"),
        ("presets/redis.toml", "check.mine = \"http://h/\"\n"),
    ]);
    let plan = loaded.unwrap_or_else(|errors| panic!("{errors}")).plan;
    assert_eq!(&*plan.services[0].checks[0].name, "mine");
    let said = said_of(&[
        ("giveover.toml", "[service.s]\npreset = \"mine\"\nunit = \"s.service\"\n"),
        ("presets/mine.toml", "check.mine = \"http://h/\"\ncolour = 3\n"),
    ]);
    assert!(said.starts_with("presets/mine.toml:2:1: error: unknown key `colour`"), "{said}");
}
