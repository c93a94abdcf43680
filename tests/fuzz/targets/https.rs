#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "https://127.0.0.1/", verify = false }"#);
