#![no_main]

giveover_fuzz::libfuzzer_sys::fuzz_target!(|text: &str| giveover_fuzz::of_servers(text));
