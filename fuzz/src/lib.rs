//! What a stranger or a bad peer may send, as functions of arbitrary bytes. Each of them panics if the code under test
//! does, or if it does what it must never do; otherwise it says how the input ended.
//!
//! `cargo fuzz` drives them with coverage (`fuzz_targets/`); the program of this crate with seeded inputs, on any compiler.
#![forbid(unsafe_code)]

pub mod checksums;
pub mod decoder;
pub mod engine;
pub mod handshake;
mod headers;
mod hostile;
pub mod inputs;
pub mod matching;
pub mod ofi;
pub mod shared_memory;
mod support;

/// Something to feed.
pub struct Target {
    /// Its name, also that of its folder of the corpus.
    pub name: &'static str,
    /// Takes one input. How that ended, for statistics.
    pub run: fn(&[u8]) -> &'static str,
    /// All ends that there are. A long run that misses one tests less than it seems to.
    pub ends: &'static [&'static str],
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "checksums", run: checksums::run, ends: checksums::ENDS },
    Target { name: "decoder", run: decoder::run, ends: decoder::ENDS },
    Target { name: "engine", run: engine::run, ends: engine::ENDS },
    Target { name: "handshake", run: handshake::run, ends: handshake::ENDS },
    Target { name: "matching", run: matching::run, ends: matching::ENDS },
    Target { name: "ofi", run: ofi::run, ends: ofi::ENDS },
    Target { name: "shared-memory", run: shared_memory::run, ends: shared_memory::ENDS },
];
