//! Scheduling policies: which subchannel carries what. One file each; the scheduler knows only the traits [`Multiplex`] and
//! [`Stripe`], and shows policies the subchannels as [`View`]s. `spec` is how users write them.

mod adaptive;
mod binding;
mod earliest;
mod round_robin;
mod spec;
mod spread;
mod stripe;
mod view;
mod weighted;

pub use spec::{Multiplexing, Striping, UnknownPolicy};
pub use spread::RATE_ERROR;
pub use stripe::{Delivered, Lengths, MAX_PIECE, NextPiece, Plan, Stripe};
pub use view::{LAST_RESORT_NS, View, Views};

use std::ops::{Deref, DerefMut};

use earliest::Earliest;

use crate::ids::VcId;

/// A multiplexing policy: spreads whole messages.
pub trait Multiplex: Send {
    /// Position in `views` of the subchannel that carries the next message, of `len` bytes, while `pending` bytes in all wait in
    /// the virtual channel. `None`: wait until a subchannel opens or drains.
    fn choose(&mut self, len: u64, pending: u64, views: &[View]) -> Option<usize>;

    /// The subchannel at `position` was just chosen. Returns up to how many bytes in flight over it it would be chosen again if
    /// nothing else changes. `None`: ask again for each message.
    fn valid_up_to(&self, _position: usize, _views: &[View]) -> Option<u64> {
        None
    }

    /// Its name and present state, for people.
    fn explain(&self) -> String;
}

/// The multiplexing policy of a virtual channel. The default one is stored inline, as there may be thousands of channels.
pub enum Multiplexer {
    /// The default policy.
    Earliest(Earliest),
    /// Any other policy.
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

impl Multiplexing {
    /// The policy, for this virtual channel.
    pub fn build(&self, vc: VcId) -> Multiplexer {
        let other: Box<dyn Multiplex> = match self {
            Multiplexing::Binding => Box::new(binding::Binding::new(vc)),
            Multiplexing::RoundRobin => Box::new(round_robin::WindowRoundRobin::new(1)),
            Multiplexing::WeightedRoundRobin(weights) => {
                Box::new(round_robin::WeightedRoundRobin::new(weights.clone()))
            }
            Multiplexing::WindowRoundRobin(window) => Box::new(round_robin::WindowRoundRobin::new(*window)),
            Multiplexing::Earliest => return Multiplexer::Earliest(Earliest::default()),
        };
        Multiplexer::Other(other)
    }
}

impl Striping {
    /// The policy, for this virtual channel.
    pub fn build(&self, vc: VcId) -> Box<dyn Stripe> {
        match self {
            Striping::Binding => Box::new(binding::Binding::new(vc)),
            Striping::Even => Box::new(weighted::Weighted::even()),
            Striping::Weighted(weights) => Box::new(weighted::Weighted::new(weights.clone())),
            Striping::Adaptive { alpha } => Box::new(adaptive::Adaptive::new(*alpha)),
            Striping::Earliest => Box::new(earliest::EarliestPiece),
        }
    }
}
