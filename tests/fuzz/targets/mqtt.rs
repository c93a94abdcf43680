#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "mqtt://127.0.0.1" }"#);
