//! What is said of checks in TLS.

use super::check;

#[test]
fn what_tls_does_not_have_is_said() {
    check(
        r#"
[service.web]
unit = "nginx.service"
check.a = { url = "smtp://h", verify = false }
check.b = { url = "https://h", verify = false, ca = "/ca.pem" }
check.c = { url = "imaps://h", server_name = "a b", min_valid = 14 }
check.d = { url = "ftps://h", starttls = true, ca = "ca.pem" }
check.e = { url = "tls://h/x" }
check.f = { url = "redis://h", min_valid = "1d" }
check.g = { url = "tls://h", weights = { read = 50 } }
"#,
        r#"
giveover.toml:3:31: error: `verify` means nothing without TLS
  3 | check.a = { url = "smtp://h", verify = false }
    |                               ^^^^^^ starttls = true begins it
giveover.toml:4:53: error: ca: with verify = false nobody is asked whom to trust
  4 | check.b = { url = "https://h", verify = false, ca = "/ca.pem" }
    |                                                     ^^^^^^^^^ leave one of them out
giveover.toml:5:46: error: server_name: `a b` is neither a name nor an address
  5 | check.c = { url = "imaps://h", server_name = "a b", min_valid = 14 }
    |                                              ^^^^^ as in "www.example.org"
giveover.toml:5:65: error: min_valid: a duration needs a unit: "14s"
  5 | check.c = { url = "imaps://h", server_name = "a b", min_valid = 14 }
    |                                                                 ^^
giveover.toml:6:31: error: unknown key `starttls` in service.web.check.d
  6 | check.d = { url = "ftps://h", starttls = true, ca = "ca.pem" }
    |                               ^^^^^^^^ only checks of kind smtp, pop3, imap, ftp and ldap have it
giveover.toml:6:53: error: ca: must be an absolute path
  6 | check.d = { url = "ftps://h", starttls = true, ca = "ca.pem" }
    |                                                     ^^^^^^^^
giveover.toml:7:19: error: url: a tls target has no path
  7 | check.e = { url = "tls://h/x" }
    |                   ^^^^^^^^^^^ tls://h
giveover.toml:8:32: error: `min_valid` means nothing without TLS
  8 | check.f = { url = "redis://h", min_valid = "1d" }
    |                                ^^^^^^^^^ tls = true begins it
giveover.toml:9:42: error: weights: a tls check has no phase `read`
  9 | check.g = { url = "tls://h", weights = { read = 50 } }
    |                                          ^^^^ its phases are resolve, connect, tls and expiry
9 errors
"#,
    );
}
