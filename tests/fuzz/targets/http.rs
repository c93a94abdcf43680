#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "http://127.0.0.1/", body = "ready" }"#);
