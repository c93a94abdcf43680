#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "redis://127.0.0.1" }"#);
