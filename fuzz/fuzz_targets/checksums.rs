//! See `fishplate_fuzz::checksums`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::checksums::run(bytes);
});
