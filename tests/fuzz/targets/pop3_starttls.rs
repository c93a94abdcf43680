#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "pop3://127.0.0.1", starttls = true, verify = false }"#);
