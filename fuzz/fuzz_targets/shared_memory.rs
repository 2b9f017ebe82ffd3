//! See `fishplate_fuzz::shared_memory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::shared_memory::run(bytes);
});
