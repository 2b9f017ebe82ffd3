//! The stripes of one cleared message: what has been cut, and how long each subchannel took.

use crate::policy::{Delivered, Lengths, Plan};
use crate::time::Instant;

/// Longest payload of one frame of an assigned stripe, in bytes: subchannels take turns after that much.
const MOST_FRAME: u64 = 512 << 10;

/// A piece of a message, to go out as one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// How a message is being cut.
#[derive(Debug)]
pub enum Stripes {
    /// Nothing is cut and no policy has been asked yet; the length in bytes.
    Unplanned(u64),
    /// Cut from the front, whoever takes it.
    Open {
        /// First byte that is not cut.
        next: u64,
        /// Length of what the peer wants, in bytes.
        len: u64,
    },
    /// One stripe a subchannel.
    Assigned(Vec<Assigned>),
}

/// The stripe of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assigned {
    next: u64,
    end: u64,
    len: u64,
    started: Instant,
    finished: Instant,
    unacknowledged: u32,
}

impl Stripes {
    /// Follows `plan`.
    pub fn planned(len: u64, plan: Plan) -> Stripes {
        match plan {
            Plan::Open => Stripes::Open { next: 0, len },
            Plan::Assigned(lengths) => Stripes::Assigned(assign(&lengths)),
        }
    }

    /// Bytes that are not cut yet.
    pub fn remaining(&self) -> u64 {
        match self {
            Stripes::Unplanned(len) => *len,
            Stripes::Open { next, len } => len - next,
            Stripes::Assigned(stripes) => stripes.iter().map(|stripe| stripe.end - stripe.next).sum(),
        }
    }

    /// Bytes that wait for subchannel `index` alone.
    pub fn assigned_to(&self, index: usize) -> u64 {
        match self {
            Stripes::Assigned(stripes) => stripes.get(index).map_or(0, |stripe| stripe.end - stripe.next),
            _ => 0,
        }
    }

    /// Cuts `len` bytes from the front of an open message.
    pub fn cut_open(&mut self, want: u64) -> Piece {
        let Stripes::Open { next, len } = self else { return Piece { offset: 0, len: 0 } };
        let piece = Piece { offset: *next, len: want.min(*len - *next) };
        *next += piece.len;
        piece
    }

    /// Cuts the next frame of subchannel `index`'s own stripe.
    pub fn cut_assigned(&mut self, index: usize, now: Instant) -> Piece {
        let Stripes::Assigned(stripes) = self else { return Piece { offset: 0, len: 0 } };
        let stripe = &mut stripes[index];
        if stripe.end - stripe.next == stripe.len {
            stripe.started = now;
        }
        let piece = Piece { offset: stripe.next, len: (stripe.end - stripe.next).min(MOST_FRAME) };
        stripe.next += piece.len;
        stripe.unacknowledged += 1;
        piece
    }

    /// What is not cut is left out. Returns how many bytes that are.
    pub fn stop(&mut self) -> u64 {
        let left = self.remaining();
        match self {
            Stripes::Unplanned(len) => *len = 0,
            Stripes::Open { next, len } => *len = *next,
            Stripes::Assigned(stripes) => stripes.iter_mut().for_each(|stripe| stripe.end = stripe.next),
        }
        left
    }

    /// A frame of subchannel `index` has been acknowledged.
    pub fn acknowledged(&mut self, index: usize, now: Instant) {
        let Stripes::Assigned(stripes) = self else { return };
        if let Some(stripe) = stripes.get_mut(index) {
            stripe.unacknowledged -= stripe.unacknowledged.min(1);
            if stripe.unacknowledged == 0 && stripe.next == stripe.end {
                stripe.finished = now;
            }
        }
    }

    /// What each subchannel's stripe took, once all are acknowledged; empty for an open message.
    pub fn delivered(&self) -> Vec<Delivered> {
        match self {
            Stripes::Assigned(stripes) => stripes
                .iter()
                .map(|stripe| Delivered { bytes: stripe.len, ns: stripe.finished.since_ns(stripe.started) })
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn assign(lengths: &Lengths) -> Vec<Assigned> {
    let mut start = 0;
    let stripe = |len: &u64| {
        let stripe = Assigned { next: start, end: start + len, len: *len, ..Assigned::default() };
        start += len;
        stripe
    };
    lengths.iter().map(stripe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_stripes_are_cut_frame_by_frame_and_timed() {
        let lengths = vec![MOST_FRAME + 1, 5];
        let mut stripes = Stripes::planned(MOST_FRAME + 6, Plan::Assigned(lengths));
        assert_eq!(stripes.cut_assigned(0, Instant(10)), Piece { offset: 0, len: MOST_FRAME });
        assert_eq!(stripes.cut_assigned(1, Instant(20)), Piece { offset: MOST_FRAME + 1, len: 5 });
        assert_eq!(stripes.remaining(), 1);
        stripes.acknowledged(0, Instant(50));
        assert_eq!(stripes.cut_assigned(0, Instant(60)), Piece { offset: MOST_FRAME, len: 1 });
        stripes.acknowledged(1, Instant(70));
        stripes.acknowledged(0, Instant(90));
        let expected = [Delivered { bytes: MOST_FRAME + 1, ns: 80 }, Delivered { bytes: 5, ns: 50 }];
        assert_eq!(stripes.delivered().as_slice(), expected);
    }

    #[test]
    fn an_open_message_is_cut_from_the_front() {
        let mut stripes = Stripes::planned(10, Plan::Open);
        assert_eq!(stripes.cut_open(7), Piece { offset: 0, len: 7 });
        assert_eq!(stripes.cut_open(7), Piece { offset: 7, len: 3 });
        assert_eq!(stripes.remaining(), 0);
    }
}
