//! The multiplexing policy of a virtual channel.

use std::ops::{Deref, DerefMut};

use super::earliest::Earliest;
use super::multiplex::Multiplex;

/// The default policy in place, as there may be thousands of channels; others by pointer.
pub enum Multiplexer {
    /// The default one.
    Earliest(Earliest),
    /// Another one.
    Other(Box<dyn Multiplex>),
}

impl Deref for Multiplexer {
    type Target = dyn Multiplex;

    fn deref(&self) -> &Self::Target {
        match self {
            Multiplexer::Earliest(policy) => policy,
            Multiplexer::Other(policy) => &**policy,
        }
    }
}

impl DerefMut for Multiplexer {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Multiplexer::Earliest(policy) => policy,
            Multiplexer::Other(policy) => &mut **policy,
        }
    }
}
