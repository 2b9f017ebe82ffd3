//! Scheduling policies: which subchannel carries what.

mod spec;

pub use spec::{Multiplexing, Striping, UnknownPolicy};
