#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "remote://127.0.0.1:9707/web" }"#);
