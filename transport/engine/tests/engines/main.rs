//! Engines against engines, over rails in memory and in virtual time, with seeded reordering between rails. A failure
//! names its seed; each seed run twice gives the same trace.

mod everything;
mod eviction;
mod failures;
mod guests;
mod hostile;
mod in_memory;
mod injects;
mod late;
mod matching;
mod support;
mod whole_messages;
