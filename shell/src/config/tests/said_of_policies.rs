//! Limits: layers, and limits that cannot work.

use super::check;

#[test]
fn policies_are_like_policies_that_exist() {
    check(
        r#"
[policy.slow]
like = "slwo"
[policy.slower]
like = "slow"
[service.web]
unit = "a.service"
policy = "fast"
check.x = "http://h/"
[service.db]
unit = "b.service"
policy = { like = "slwer" }
check.x = "http://i/"
"#,
        r#"
giveover.toml:2:8: error: like: no policy is called `slwo`
  2 | like = "slwo"
    |        ^^^^^^ did you mean `slow`?
giveover.toml:7:10: error: policy: no policy is called `fast`
  7 | policy = "fast"
    |          ^^^^^^
giveover.toml:11:19: error: policy: no policy is called `slwer`
  11 | policy = { like = "slwer" }
     |                   ^^^^^^^ did you mean `slower`?
3 errors
"#,
    );
}

#[test]
fn policies_like_each_other_name_the_circle() {
    check(
        r#"
[policy.a]
like = "b"
[policy.b]
like = "c"
[policy.c]
like = "a"
[policy.d]
like = "a"
[policy.e]
like = "e"
"#,
        r#"
giveover.toml:2:8: error: like: a circle: a -> b -> c -> a
  2 | like = "b"
    |        ^^^ one of them must stand alone
giveover.toml:10:8: error: like: a circle: e -> e
  10 | like = "e"
     |        ^^^ one of them must stand alone
2 errors
"#,
    );
}

#[test]
fn a_window_no_sum_fits_into_names_the_least_that_would() {
    check(
        r#"
[policy.short]
retry_interval = "29s"
[service.web]
unit = "a.service"
policy = "short"
check.x = { url = "http://h/", weight = 50 }
"#,
        r#"
giveover.toml:2:18: error: service.web: no number of failed cycles, 50 each, reaches 100 inside retry_interval
  2 | retry_interval = "29s"
    |                  ^^^^^ the least that works is "30s"
1 error
"#,
    );
}

#[test]
fn a_giveover_no_probe_reaches_is_refused_where_deaths_are_not_seen() {
    check(
        r#"
[giveover]
command = ["/bin/true"]
[service.web]
giveover = "command"
policy = { retry_interval = "20s" }
check.x = { url = "http://h/", weight = 50 }
"#,
        r#"
giveover.toml:5:29: error: service.web: no number of failed cycles, 50 each, reaches 100 inside retry_interval
  5 | policy = { retry_interval = "20s" }
    |                             ^^^^^ the least that works is "30s"
1 error
"#,
    );
}

#[test]
fn limits_nobody_wrote_are_judged_at_the_service() {
    check(
        r#"
[service.web]
unit = "a.service"
policy = { thorough_probe_interval = "20m" }
check.x = { url = "http://h/", weight = 50 }
"#,
        r#"
giveover.toml:1:1: error: service.web: no number of failed cycles, 50 each, reaches 100 inside retry_interval
  1 | [service.web]
    | ^^^^^^^^^^^^^ the least that works is "1200s"
1 error
"#,
    );
}
