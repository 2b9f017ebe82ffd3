//! See `fishplate_fuzz::decoder`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::decoder::run(bytes);
});
