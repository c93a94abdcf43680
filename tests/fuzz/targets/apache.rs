#![no_main]

giveover_fuzz::dialogue!(r#"{ kind = "apache", address = "127.0.0.1:80" }"#);
