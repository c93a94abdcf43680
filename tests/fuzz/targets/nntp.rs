#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "nntp://127.0.0.1" }"#);
