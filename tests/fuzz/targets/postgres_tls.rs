#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "postgres://u@127.0.0.1/d", tls = true, verify = false }"#);
