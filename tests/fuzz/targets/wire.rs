#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| giveover_fuzz::wire(bytes));
