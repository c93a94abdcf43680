#![no_main]

giveover_fuzz::datagrams!(r#"{ url = "dns://127.0.0.1/example.org" }"#);
