#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "tcp://127.0.0.1:9", send = "?", expect = "ready" }"#);
