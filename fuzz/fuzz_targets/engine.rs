//! See `fishplate_fuzz::engine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::engine::run(bytes);
});
