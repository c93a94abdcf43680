#![no_main]

giveover_fuzz::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| giveover_fuzz::heartbeat(bytes));
