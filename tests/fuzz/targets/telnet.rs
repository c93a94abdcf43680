#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "telnet://127.0.0.1" }"#);
