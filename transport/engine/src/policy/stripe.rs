//! The interface between the scheduler and a striping policy.

use super::view::View;
use crate::time::Instant;

/// Longest piece in bytes, for any subchannel and policy, so that subchannels take turns.
pub const MAX_PIECE: u64 = 512 << 10;

/// Cuts long messages.
pub trait Stripe: Send {
    /// Called when the first stripe of a message of `len` bytes is about to be cut.
    fn plan(&mut self, len: u64, views: &[View]) -> Plan;

    /// For messages planned as [`Plan::LateBound`]: the next piece, of at most `remaining` bytes, when `pending` bytes in all
    /// wait in the virtual channel. `None`: wait.
    fn cut(&mut self, remaining: u64, pending: u64, views: &[View]) -> Option<NextPiece>;

    /// Whether a message of `len` bytes that would fit into one frame arrives earlier in pieces.
    fn is_worth_cutting(&self, _len: u64, _views: &[View]) -> bool {
        false
    }

    /// Whether messages are cut by [`Stripe::cut`].
    fn binds_late(&self) -> bool {
        false
    }

    /// All stripes of an assigned message have been delivered, one a subchannel of the plan.
    fn delivered(&mut self, stripes: &[Delivered]);

    /// Its name and present state, for people.
    fn explain(&self) -> String;
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextPiece {
    /// Position in the views of the subchannel that takes it.
    pub position: usize,
    /// Its length in bytes.
    pub len: u64,
}

/// Delivery of one subchannel's stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivered {
    /// Length of the stripe.
    pub bytes: u64,
    /// When its first byte was sent.
    pub started: Instant,
    /// When its last byte was acknowledged.
    pub finished: Instant,
}

/// How a message will be cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Piece by piece, by [`Stripe::cut`].
    LateBound,
    /// One stripe a subchannel, of these lengths in bytes, one behind the other.
    Assigned(Lengths),
}

/// Lengths of the stripes of a message, one a subchannel.
pub type Lengths = Vec<u64>;

/// Cuts `len` bytes in proportion to `weights`; every byte is in exactly one part.
pub(super) fn proportional(len: u64, weights: impl Iterator<Item = f64> + Clone) -> Lengths {
    let total: f64 = weights.clone().sum();
    let mut lengths = Lengths::new();
    let (mut sum, mut cut) = (0.0, 0);
    for weight in weights {
        sum += weight;
        let end = ((len as f64 * (sum / total)).round() as u64).clamp(cut, len);
        lengths.push(end - cut);
        cut = end;
    }
    if let Some(last) = lengths.last_mut() {
        *last += len - cut;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stripes_cover_each_byte_once(len in 0u64..1 << 62, weights in prop::collection::vec(0.001f64..1e12, 1..64)) {
            let lengths = proportional(len, weights.iter().copied());
            prop_assert_eq!(lengths.len(), weights.len());
            prop_assert_eq!(lengths.iter().sum::<u64>(), len);
        }
    }
}
