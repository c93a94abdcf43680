//! Text that is no TOML, and what is still said about the rest.

use super::check;

#[test]
fn every_syntax_error_is_reported_with_the_rest() {
    check(
        r#"
x = nope
[service.web]
unit = "nginx.service
check.page = { url = "http://h/", expcet = 3 }
[service.db
unit = "db.service"
[policy.a]
retry_interval = 300
= 5
key
"#,
        r#"
giveover.toml:1:5: error: `nope` is no value; a text needs quotes: "nope"
  1 | x = nope
    |     ^^^^
giveover.toml:3:22: error: this text is not closed, or has a character it cannot hold
  3 | unit = "nginx.service
    |                      ^
giveover.toml:4:35: error: unknown key `expcet` in service.web.check.page
  4 | check.page = { url = "http://h/", expcet = 3 }
    |                                   ^^^^^^ did you mean `expect`?
giveover.toml:5:12: error: the table's name is not closed: `]` is missing
  5 | [service.db
    |            ^
giveover.toml:8:18: error: retry_interval: a duration needs a unit: "300s"
  8 | retry_interval = 300
    |                  ^^^
giveover.toml:9:1: error: a key is missing here
  9 | = 5
    | ^
giveover.toml:10:4: error: a key needs a value: KEY = VALUE
  10 | key
     |    ^
7 errors
"#,
    );
}

#[test]
fn a_list_left_open_is_one_error() {
    check(
        r#"
[service.web]
start = ["a", "b"
needs = ["db"]
[service.db]
unit = 3
"#,
        r#"
giveover.toml:2:18: error: the list goes on without a comma, or is not closed with `]`
  2 | start = ["a", "b"
    |                  ^
1 error
"#,
    );
}

#[test]
fn what_follows_from_a_syntax_error_is_not_said() {
    check(
        r#"
[service.web]
unit = "web.service"
needs = ["db"]
check.x = { }
[service.db
unit = "db.service"
"#,
        r#"
giveover.toml:5:12: error: the table's name is not closed: `]` is missing
  5 | [service.db
    |            ^
1 error
"#,
    );
}

#[test]
fn tables_and_values_do_not_mix() {
    check(
        r#"
[service]
web = 1
[service.web]
unit = "a.service"
check.x = "http://h/"
[policy.a]
retry_count = 1
retry_count.x = 2
"#,
        r#"
giveover.toml:2:7: error: web: a table is wanted, this is a number
  2 | web = 1
    |       ^
giveover.toml:3:10: error: [service.web] is given twice
  3 | [service.web]
    |          ^^^ first given at giveover.toml:2:1
giveover.toml:8:1: error: `retry_count` is a number already, it cannot be a table too
  8 | retry_count.x = 2
    | ^^^^^^^^^^^
3 errors
"#,
    );
}

#[test]
fn an_empty_file_watches_nothing() {
    check(
        r#"
"#, r#"

"#,
    );
}

#[test]
fn columns_count_characters_and_carets_stand_under_them() {
    check(
        "
[service.web]
unit = \"nginx.service\"
	check.a = { url = \"tcp://日本:80\", évery = 1 } # 日本
check.b = { body = \"e\u{301}\", urk = \"http://h/\" }\r
check.c = { body = \"🦀\", urk = \"http://h/\" }
",
        "
giveover.toml:3:35: error: a key is of A-Z a-z 0-9 _ -; any other stands in quotes
  3 | 	check.a = { url = \"tcp://日本:80\", évery = 1 } # 日本
    | 	                                   ^
giveover.toml:4:26: error: unknown key `urk` in service.web.check.b
  4 | check.b = { body = \"e\u{301}\", urk = \"http://h/\" }
    |                         ^^^ did you mean `url`?
giveover.toml:5:25: error: unknown key `urk` in service.web.check.c
  5 | check.c = { body = \"🦀\", urk = \"http://h/\" }
    |                          ^^^ did you mean `url`?
3 errors
",
    );
}

#[test]
fn a_mark_at_the_beginning_is_no_column() {
    check(
        "
\u{feff}x = 1
",
        "
giveover.toml:1:1: error: unknown key `x`
  1 | \u{feff}x = 1
    | ^ keys here are include, host, giveover, control, board, watch, notify, policy, cluster, node, group, pool and service
1 error
",
    );
}

#[test]
fn a_long_line_is_shown_around_its_error() {
    let text =
        format!("[host]\nnode = [{}]\ntrusted = [{}5]\n", "1, ".repeat(200), "5, ".repeat(100));
    let said = super::said(&text);
    assert!(said.lines().all(|line| line.chars().count() < 260), "{said}");
    assert!(said.contains("giveover.toml:3:312: error: trusted: a text"), "{said}");
}

#[test]
fn what_a_terminal_would_obey_is_not_shown() {
    let said =
        super::said("[service.\"a\u{1b}[31m\"]\nunit = \"a.service\"\ncheck.x = \"http://h/\"\n");
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_header_that_is_not_closed_still_opens_its_table() {
    check(
        r#"
[service.web
unit = "nginx"
[[service.db]
unit = 5
"#,
        r#"
giveover.toml:1:13: error: the table's name is not closed: `]` is missing
  1 | [service.web
    |             ^
giveover.toml:2:8: error: unit: a unit's name ends in .service, .socket, .target, .mount, .timer, .path or .scope
  2 | unit = "nginx"
    |        ^^^^^^^ "nginx.service"
giveover.toml:3:14: error: the table's name is not closed: `]]` is missing
  3 | [[service.db]
    |              ^
3 errors
"#,
    );
}
