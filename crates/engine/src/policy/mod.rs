//! Scheduling policies: which subchannel carries what. One file each; the scheduler knows only the traits [`Multiplex`] and
//! [`Stripe`], and shows policies the subchannels as [`View`]s. `spec` is how users write them.

mod adaptive;
mod binding;
mod earliest;
mod multiplex;
mod multiplexer;
mod round_robin;
mod spec;
mod spread;
mod stripe;
mod view;
mod weighted;

pub use multiplex::Multiplex;
pub use multiplexer::Multiplexer;
pub use spec::{Multiplexing, Striping, UnknownPolicy};
pub use spread::RATE_ERROR;
pub use stripe::{Delivered, Lengths, MAX_PIECE, NextPiece, Plan, Stripe};
pub use view::{LAST_RESORT_NS, View, Views};

impl Multiplexing {
    /// The policy, for the virtual channel to peer number `peer`.
    pub fn build(&self, peer: u32) -> Multiplexer {
        let other: Box<dyn Multiplex> = match self {
            Multiplexing::Binding => Box::new(binding::Binding::new(peer)),
            Multiplexing::RoundRobin => Box::new(round_robin::WindowRoundRobin::new(1)),
            Multiplexing::WeightedRoundRobin(weights) => {
                Box::new(round_robin::WeightedRoundRobin::new(weights.clone()))
            }
            Multiplexing::WindowRoundRobin(window) => Box::new(round_robin::WindowRoundRobin::new(*window)),
            Multiplexing::Earliest => return Multiplexer::Earliest(earliest::Earliest::default()),
        };
        Multiplexer::Other(other)
    }
}

impl Striping {
    /// The policy, for the virtual channel to peer number `peer`.
    pub fn build(&self, peer: u32) -> Box<dyn Stripe> {
        match self {
            Striping::Binding => Box::new(binding::Binding::new(peer)),
            Striping::Even => Box::new(weighted::Weighted::even()),
            Striping::Weighted(weights) => Box::new(weighted::Weighted::new(weights.clone())),
            Striping::Adaptive { alpha } => Box::new(adaptive::Adaptive::new(*alpha)),
            Striping::Earliest => Box::new(earliest::EarliestPiece),
        }
    }
}
