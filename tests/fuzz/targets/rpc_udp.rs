#![no_main]

giveover_fuzz::datagrams!(r#"{ url = "rpc://127.0.0.1", program = "nfsd" }"#);
