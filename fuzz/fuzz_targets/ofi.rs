//! See `fishplate_fuzz::ofi`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::ofi::run(bytes);
});
