#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "tls://127.0.0.1:443" }"#);
