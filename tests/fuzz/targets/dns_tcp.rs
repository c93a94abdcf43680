#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "dns://127.0.0.1/example.org", transport = "tcp" }"#);
