#![no_main]

giveover_fuzz::dialogue!(r#"{ url = "rpc://127.0.0.1:111", program = 100000, transport = "tcp" }"#);
