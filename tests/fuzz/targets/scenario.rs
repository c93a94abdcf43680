#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| giveover_fuzz::scenario(text));
