//! The stripes of one send: which bytes are cut, and how long each subchannel took.

use crate::policy::{Delivered, Lengths, MAX_PIECE, Plan};
use crate::time::Instant;

/// A piece of a message, to go out as one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// How a message is being cut. Early data may be cut before the CTS, the rest not.
#[derive(Debug)]
pub struct Stripes {
    /// Bytes of early data.
    early: u64,
    /// Bytes that may be cut by now: `early` until the CTS comes, then all that the peer wants.
    limit: u64,
    cut: Cut,
}

#[derive(Debug)]
enum Cut {
    /// No policy has been asked yet. None is over shared memory: there it is cut from the front.
    Unplanned {
        /// First byte that is not cut.
        next: u64,
        /// Length in bytes.
        len: u64,
    },
    /// Late binding: cut from the front, for the subchannel that takes the next piece.
    LateBound {
        /// First byte that is not cut.
        next: u64,
        /// Length in bytes.
        len: u64,
    },
    /// One stripe for each subchannel.
    Assigned(Vec<Assigned>),
}

/// The stripe of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assigned {
    subchannel: u8,
    first: u64,
    next: u64,
    end: u64,
    len: u64,
    /// No part of it was assigned yet.
    is_uncut: bool,
    started: Instant,
    finished: Instant,
    unacknowledged: u32,
}

impl Assigned {
    fn uncut_before(&self, limit: u64) -> u64 {
        self.end.min(limit).saturating_sub(self.next)
    }
}

impl Stripes {
    /// Of `len` bytes that may all be cut at once.
    pub fn all_allowed(len: u64) -> Stripes {
        Stripes { early: 0, limit: len, cut: Cut::Unplanned { next: 0, len } }
    }

    /// Of a message of `len` bytes, `early` of which may be cut before the CTS.
    pub fn with_early(len: u64, early: u64) -> Stripes {
        Stripes { early, limit: early, cut: Cut::Unplanned { next: 0, len } }
    }

    /// Bytes that are not cut; `None` once a policy has planned them.
    pub fn unplanned(&self) -> Option<u64> {
        match self.cut {
            Cut::Unplanned { next, len } => Some(len - next),
            _ => None,
        }
    }

    /// Applies the policy's plan.
    pub fn apply(&mut self, plan: Plan, live: &[u8]) {
        let Cut::Unplanned { next, len } = self.cut else { return };
        self.cut = match plan {
            Plan::LateBound => Cut::LateBound { next, len },
            Plan::Assigned(lengths) => Cut::Assigned(assign(next, &lengths, live)),
        };
    }

    /// Whether each piece goes to any subchannel that can take it.
    pub fn is_late_bound(&self) -> bool {
        matches!(self.cut, Cut::LateBound { .. })
    }

    /// Whether each subchannel has a stripe of its own.
    pub fn is_assigned(&self) -> bool {
        matches!(self.cut, Cut::Assigned(_))
    }

    /// Moves the stripes of dead subchannels to a live one.
    pub fn reassign_dead(&mut self, live: &[u8]) {
        let (Cut::Assigned(stripes), [first, ..]) = (&mut self.cut, live) else { return };
        let dead = stripes.iter_mut().filter(|stripe| !live.contains(&stripe.subchannel));
        dead.for_each(|stripe| stripe.subchannel = *first);
    }

    /// The CTS has come, for the first `len` bytes.
    pub fn clear_to_send(&mut self, len: u64) {
        self.limit = len;
        match &mut self.cut {
            Cut::Unplanned { next, len: all } | Cut::LateBound { next, len: all } => *all = len.max(*next),
            Cut::Assigned(stripes) => {
                stripes.iter_mut().for_each(|stripe| stripe.end = stripe.end.min(len).max(stripe.next));
            }
        }
    }

    /// The first `len` bytes may be sent as early data.
    pub fn allow_early(&mut self, len: u64) {
        self.early = self.early.max(len);
        self.limit = self.limit.max(len);
    }

    /// Bytes that are not cut yet.
    pub fn remaining(&self) -> u64 {
        self.uncut_before(u64::MAX)
    }

    /// Bytes that are not cut yet and may be.
    pub fn allowed(&self) -> u64 {
        self.uncut_before(self.limit)
    }

    fn uncut_before(&self, limit: u64) -> u64 {
        match &self.cut {
            Cut::Unplanned { next, len } | Cut::LateBound { next, len } => limit.min(*len).saturating_sub(*next),
            Cut::Assigned(stripes) => stripes.iter().map(|stripe| stripe.uncut_before(limit)).sum(),
        }
    }

    /// Bytes that wait for subchannel `index` alone.
    pub fn assigned_to(&self, index: usize) -> u64 {
        match &self.cut {
            Cut::Assigned(stripes) => {
                let own = stripes.iter().filter(|stripe| usize::from(stripe.subchannel) == index);
                own.map(|stripe| stripe.uncut_before(self.limit)).sum()
            }
            _ => 0,
        }
    }

    /// Whether the byte at `offset` is early data. A piece is wholly early data, or not at all.
    pub fn is_early(&self, offset: u64) -> bool {
        offset < self.early
    }

    /// Bytes of early data.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// First byte behind `offset` that may not be in the same piece.
    fn bound(&self, offset: u64) -> u64 {
        if self.is_early(offset) { self.early.min(self.limit) } else { self.limit }
    }

    /// Cuts up to `want` bytes from the front of a message that is not assigned.
    pub fn cut_next(&mut self, want: u64) -> Piece {
        let (Cut::Unplanned { next, len } | Cut::LateBound { next, len }) = self.cut else {
            return Piece { offset: 0, len: 0 };
        };
        let end = (next + want).min(len).min(self.bound(next)).max(next);
        if let Cut::Unplanned { next, .. } | Cut::LateBound { next, .. } = &mut self.cut {
            *next = end;
        }
        Piece { offset: next, len: end - next }
    }

    /// Cuts the next frame of subchannel `index`'s own stripe.
    pub fn cut_assigned(&mut self, index: usize, now: Instant) -> Piece {
        let nothing = Piece { offset: 0, len: 0 };
        let limit = self.limit;
        let Cut::Assigned(stripes) = &self.cut else { return nothing };
        let own = |stripe: &Assigned| usize::from(stripe.subchannel) == index && stripe.uncut_before(limit) > 0;
        let Some(at) = stripes.iter().position(own) else { return nothing };
        let next = stripes[at].next;
        let bound = self.bound(next);
        let Cut::Assigned(stripes) = &mut self.cut else { return nothing };
        let stripe = &mut stripes[at];
        if stripe.is_uncut {
            (stripe.is_uncut, stripe.started) = (false, now);
        }
        let piece = Piece { offset: next, len: stripe.uncut_before(bound).min(MAX_PIECE) };
        stripe.next += piece.len;
        stripe.unacknowledged += 1;
        piece
    }

    /// Leaves out all bytes that are not cut. Returns how many of them could have been cut by now.
    pub fn stop(&mut self) -> u64 {
        let left = self.allowed();
        match &mut self.cut {
            Cut::Unplanned { next, len } | Cut::LateBound { next, len } => *len = *next,
            Cut::Assigned(stripes) => stripes.iter_mut().for_each(|stripe| stripe.end = stripe.next),
        }
        left
    }

    /// The piece at `offset` has been acknowledged, over any subchannel.
    pub fn acknowledged(&mut self, offset: u64, now: Instant) {
        let Cut::Assigned(stripes) = &mut self.cut else { return };
        // Pieces that were cut before there was a plan belong to no stripe.
        let is_of = |stripe: &&mut Assigned| (stripe.first..stripe.next).contains(&offset);
        if let Some(stripe) = stripes.iter_mut().find(is_of) {
            debug_assert!(stripe.unacknowledged > 0, "each piece is acknowledged once");
            stripe.unacknowledged = stripe.unacknowledged.saturating_sub(1);
            if stripe.unacknowledged == 0 && stripe.next == stripe.end {
                stripe.finished = now;
            }
        }
    }

    /// When each subchannel's stripe was sent and acknowledged, once all are; empty for a late-bound message.
    pub fn delivered(&self) -> Vec<Delivered> {
        match &self.cut {
            Cut::Assigned(stripes) => stripes
                .iter()
                .map(|&Assigned { len: bytes, started, finished, .. }| Delivered { bytes, started, finished })
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn assign(mut start: u64, lengths: &Lengths, live: &[u8]) -> Vec<Assigned> {
    let stripe = |(len, subchannel): (&u64, &u8)| {
        let subchannel = *subchannel;
        let (first, end, len) = (start, start + len, *len);
        let stripe = Assigned { subchannel, first, next: first, end, len, is_uncut: true, ..Assigned::default() };
        start += len;
        stripe
    };
    lengths.iter().zip(live).map(stripe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_stripes_are_cut_frame_by_frame_and_timed() {
        let lengths = vec![MAX_PIECE + 1, 5];
        let mut stripes = Stripes::all_allowed(MAX_PIECE + 6);
        stripes.apply(Plan::Assigned(lengths), &[0, 1]);
        assert_eq!(stripes.cut_assigned(0, Instant(10)), Piece { offset: 0, len: MAX_PIECE });
        assert_eq!(stripes.cut_assigned(1, Instant(20)), Piece { offset: MAX_PIECE + 1, len: 5 });
        assert_eq!(stripes.remaining(), 1);
        stripes.acknowledged(0, Instant(50));
        assert_eq!(stripes.cut_assigned(0, Instant(60)), Piece { offset: MAX_PIECE, len: 1 });
        // Whatever the order, and the subchannel.
        stripes.acknowledged(MAX_PIECE + 1, Instant(70));
        stripes.acknowledged(MAX_PIECE, Instant(90));
        let expected = [
            Delivered { bytes: MAX_PIECE + 1, started: Instant(10), finished: Instant(90) },
            Delivered { bytes: 5, started: Instant(20), finished: Instant(70) },
        ];
        assert_eq!(stripes.delivered().as_slice(), expected);
    }

    #[test]
    fn an_open_message_is_cut_from_the_front() {
        let mut stripes = Stripes::all_allowed(10);
        stripes.apply(Plan::LateBound, &[0]);
        assert_eq!(stripes.cut_next(7), Piece { offset: 0, len: 7 });
        assert_eq!(stripes.cut_next(7), Piece { offset: 7, len: 3 });
        assert_eq!(stripes.remaining(), 0);
    }

    #[test]
    fn early_data_go_at_once_and_the_rest_waits_for_the_cts() {
        for plan in [Plan::LateBound, Plan::Assigned(vec![100])] {
            let assigned = plan != Plan::LateBound;
            let mut stripes = Stripes::with_early(100, 60);
            stripes.apply(plan, &[0]);
            let cut = |stripes: &mut Stripes| match assigned {
                true => stripes.cut_assigned(0, Instant(0)).len,
                false => stripes.cut_next(MAX_PIECE).len,
            };
            assert_eq!((stripes.allowed(), cut(&mut stripes)), (60, 60));
            assert_eq!((stripes.allowed(), stripes.remaining()), (0, 40));
            stripes.clear_to_send(90);
            assert_eq!((cut(&mut stripes), stripes.remaining()), (30, 0));
        }
        let mut stripes = Stripes::with_early(100, 60);
        stripes.clear_to_send(90);
        stripes.apply(Plan::LateBound, &[0]);
        let pieces = [stripes.cut_next(MAX_PIECE), stripes.cut_next(MAX_PIECE)];
        assert_eq!(pieces, [Piece { offset: 0, len: 60 }, Piece { offset: 60, len: 30 }]);
        assert!(stripes.is_early(59) && !stripes.is_early(60));
        let mut stripes = Stripes::with_early(100, 60);
        stripes.clear_to_send(20);
        assert_eq!(stripes.remaining(), 20, "a short receive");
    }
}
