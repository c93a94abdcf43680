#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "imap://127.0.0.1" }"#);
