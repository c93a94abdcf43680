#![no_main]

giveover_fuzz::dialogue!(r#"{ kind = "directory", address = "127.0.0.1:389" }"#);
