#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "smtp://127.0.0.1", ehlo = "gw.example" }"#);
