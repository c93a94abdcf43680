#![no_main]

giveover_fuzz::datagrams!(r#"{ url = "ping://127.0.0.1" }"#);
