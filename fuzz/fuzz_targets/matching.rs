//! See `fishplate_fuzz::matching`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::matching::run(bytes);
});
