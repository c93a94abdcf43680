#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "ldap://127.0.0.1", starttls = true, verify = false }"#);
