//! See `fishplate_fuzz::handshake`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fishplate_fuzz::handshake::run(bytes);
});
