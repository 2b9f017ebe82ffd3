//! The stripes of one cleared message: what has been cut, and how long each subchannel took.

use crate::policy::{Delivered, Lengths, MOST_PIECE, Plan};
use crate::time::Instant;

/// A piece of a message, to go out as one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// How a message is being cut. Its start may go ahead of the peer's clearance, the rest not.
#[derive(Debug)]
pub struct Stripes {
    /// Bytes that go without a clearance.
    ahead: u64,
    /// Bytes that may be cut by now: `ahead` until the clearance comes, all that the peer wants thereafter.
    until: u64,
    cut: Cut,
}

#[derive(Debug)]
enum Cut {
    /// Nothing is cut and no policy has been asked yet; the length in bytes.
    Unplanned(u64),
    /// Cut from the front, whoever takes it.
    Open {
        /// First byte that is not cut.
        next: u64,
        /// Length in bytes.
        len: u64,
    },
    /// One stripe a subchannel.
    Assigned(Vec<Assigned>),
}

/// The stripe of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assigned {
    subchannel: u8,
    next: u64,
    end: u64,
    len: u64,
    /// Nothing of it is cut.
    is_whole: bool,
    started: Instant,
    finished: Instant,
    unacknowledged: u32,
}

impl Assigned {
    fn uncut_before(&self, until: u64) -> u64 {
        self.end.min(until).saturating_sub(self.next)
    }
}

impl Stripes {
    /// Of `len` bytes that may all be cut.
    pub fn cleared(len: u64) -> Stripes {
        Stripes { ahead: 0, until: len, cut: Cut::Unplanned(len) }
    }

    /// Of a message of `len` bytes, `ahead` of which go before the peer has cleared it.
    pub fn ahead(len: u64, ahead: u64) -> Stripes {
        Stripes { ahead, until: ahead, cut: Cut::Unplanned(len) }
    }

    /// Length in bytes, if no policy has been asked yet how to cut it.
    pub fn unplanned(&self) -> Option<u64> {
        match self.cut {
            Cut::Unplanned(len) => Some(len),
            _ => None,
        }
    }

    /// It will be cut like this.
    pub fn follow(&mut self, plan: Plan, live: &[u8]) {
        let Cut::Unplanned(len) = self.cut else { return };
        self.cut = match plan {
            Plan::Open => Cut::Open { next: 0, len },
            Plan::Assigned(lengths) => Cut::Assigned(assign(&lengths, live)),
        };
    }

    /// Whether whoever takes a piece gets it.
    pub fn is_open(&self) -> bool {
        matches!(self.cut, Cut::Open { .. })
    }

    /// Stripes of subchannels that have ended go to one that carries.
    pub fn leave_dead(&mut self, live: &[u8]) {
        let (Cut::Assigned(stripes), [first, ..]) = (&mut self.cut, live) else { return };
        let dead = stripes.iter_mut().filter(|stripe| !live.contains(&stripe.subchannel));
        dead.for_each(|stripe| stripe.subchannel = *first);
    }

    /// The peer wants the first `len` bytes, and has cleared those that do not go ahead of that.
    pub fn clear(&mut self, len: u64) {
        self.until = len;
        match &mut self.cut {
            Cut::Unplanned(all) => *all = len,
            Cut::Open { next, len: all } => *all = len.max(*next),
            Cut::Assigned(stripes) => {
                stripes.iter_mut().for_each(|stripe| stripe.end = stripe.end.min(len).max(stripe.next));
            }
        }
    }

    /// The peer has memory for the first `len` bytes: they go without a clearance.
    pub fn go_ahead(&mut self, len: u64) {
        self.ahead = self.ahead.max(len);
        self.until = self.until.max(len);
    }

    /// Bytes that are not cut yet.
    pub fn remaining(&self) -> u64 {
        self.uncut_before(u64::MAX)
    }

    /// Bytes that are not cut yet and may be.
    pub fn allowed(&self) -> u64 {
        self.uncut_before(self.until)
    }

    fn uncut_before(&self, until: u64) -> u64 {
        match &self.cut {
            Cut::Unplanned(len) => until.min(*len),
            Cut::Open { next, len } => until.min(*len).saturating_sub(*next),
            Cut::Assigned(stripes) => stripes.iter().map(|stripe| stripe.uncut_before(until)).sum(),
        }
    }

    /// Bytes that wait for subchannel `index` alone.
    pub fn assigned_to(&self, index: usize) -> u64 {
        match &self.cut {
            Cut::Assigned(stripes) => {
                let own = stripes.iter().filter(|stripe| usize::from(stripe.subchannel) == index);
                own.map(|stripe| stripe.uncut_before(self.until)).sum()
            }
            _ => 0,
        }
    }

    /// Whether the byte at `offset` goes ahead of the clearance. A piece lies wholly on one side.
    pub fn is_ahead(&self, offset: u64) -> bool {
        offset < self.ahead
    }

    /// Bytes that go without a clearance.
    pub fn sent_ahead(&self) -> u64 {
        self.ahead
    }

    /// First byte behind `offset` that may not be in the same piece.
    fn bound(&self, offset: u64) -> u64 {
        if self.is_ahead(offset) { self.ahead.min(self.until) } else { self.until }
    }

    /// Cuts up to `want` bytes from the front of an open message.
    pub fn cut_open(&mut self, want: u64) -> Piece {
        let Cut::Open { next, len } = self.cut else { return Piece { offset: 0, len: 0 } };
        let end = (next + want).min(len).min(self.bound(next)).max(next);
        self.cut = Cut::Open { next: end, len };
        Piece { offset: next, len: end - next }
    }

    /// Cuts the next frame of subchannel `index`'s own stripe.
    pub fn cut_assigned(&mut self, index: usize, now: Instant) -> Piece {
        let nothing = Piece { offset: 0, len: 0 };
        let until = self.until;
        let Cut::Assigned(stripes) = &self.cut else { return nothing };
        let own = |stripe: &Assigned| usize::from(stripe.subchannel) == index && stripe.uncut_before(until) > 0;
        let Some(at) = stripes.iter().position(own) else { return nothing };
        let next = stripes[at].next;
        let bound = self.bound(next);
        let Cut::Assigned(stripes) = &mut self.cut else { return nothing };
        let stripe = &mut stripes[at];
        if stripe.is_whole {
            (stripe.is_whole, stripe.started) = (false, now);
        }
        let piece = Piece { offset: next, len: stripe.uncut_before(bound).min(MOST_PIECE) };
        stripe.next += piece.len;
        stripe.unacknowledged += 1;
        piece
    }

    /// What is not cut is left out. Returns how many bytes that could have been cut by now.
    pub fn stop(&mut self) -> u64 {
        let left = self.allowed();
        match &mut self.cut {
            Cut::Unplanned(len) => *len = 0,
            Cut::Open { next, len } => *len = *next,
            Cut::Assigned(stripes) => stripes.iter_mut().for_each(|stripe| stripe.end = stripe.next),
        }
        left
    }

    /// A frame of subchannel `index` has been acknowledged.
    pub fn acknowledged(&mut self, index: usize, now: Instant) {
        let Cut::Assigned(stripes) = &mut self.cut else { return };
        if let Some(stripe) = stripes.iter_mut().find(|stripe| usize::from(stripe.subchannel) == index) {
            stripe.unacknowledged -= stripe.unacknowledged.min(1);
            if stripe.unacknowledged == 0 && stripe.next == stripe.end {
                stripe.finished = now;
            }
        }
    }

    /// What each subchannel's stripe took, once all are acknowledged; empty for an open message.
    pub fn delivered(&self) -> Vec<Delivered> {
        match &self.cut {
            Cut::Assigned(stripes) => stripes
                .iter()
                .map(|stripe| Delivered { bytes: stripe.len, ns: stripe.finished.since_ns(stripe.started) })
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn assign(lengths: &Lengths, live: &[u8]) -> Vec<Assigned> {
    let mut start = 0;
    let stripe = |(len, subchannel): (&u64, &u8)| {
        let subchannel = *subchannel;
        let stripe =
            Assigned { subchannel, next: start, end: start + len, len: *len, is_whole: true, ..Assigned::default() };
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
        let lengths = vec![MOST_PIECE + 1, 5];
        let mut stripes = Stripes::cleared(MOST_PIECE + 6);
        stripes.follow(Plan::Assigned(lengths), &[0, 1]);
        assert_eq!(stripes.cut_assigned(0, Instant(10)), Piece { offset: 0, len: MOST_PIECE });
        assert_eq!(stripes.cut_assigned(1, Instant(20)), Piece { offset: MOST_PIECE + 1, len: 5 });
        assert_eq!(stripes.remaining(), 1);
        stripes.acknowledged(0, Instant(50));
        assert_eq!(stripes.cut_assigned(0, Instant(60)), Piece { offset: MOST_PIECE, len: 1 });
        stripes.acknowledged(1, Instant(70));
        stripes.acknowledged(0, Instant(90));
        let expected = [Delivered { bytes: MOST_PIECE + 1, ns: 80 }, Delivered { bytes: 5, ns: 50 }];
        assert_eq!(stripes.delivered().as_slice(), expected);
    }

    #[test]
    fn an_open_message_is_cut_from_the_front() {
        let mut stripes = Stripes::cleared(10);
        stripes.follow(Plan::Open, &[0]);
        assert_eq!(stripes.cut_open(7), Piece { offset: 0, len: 7 });
        assert_eq!(stripes.cut_open(7), Piece { offset: 7, len: 3 });
        assert_eq!(stripes.remaining(), 0);
    }

    #[test]
    fn the_start_goes_ahead_and_the_rest_waits_for_the_clearance() {
        for plan in [Plan::Open, Plan::Assigned(vec![100])] {
            let assigned = plan != Plan::Open;
            let mut stripes = Stripes::ahead(100, 60);
            stripes.follow(plan, &[0]);
            let cut = |stripes: &mut Stripes| match assigned {
                true => stripes.cut_assigned(0, Instant(0)).len,
                false => stripes.cut_open(MOST_PIECE).len,
            };
            assert_eq!((stripes.allowed(), cut(&mut stripes)), (60, 60));
            assert_eq!((stripes.allowed(), stripes.remaining()), (0, 40));
            stripes.clear(90);
            assert_eq!((cut(&mut stripes), stripes.remaining()), (30, 0));
        }
        let mut stripes = Stripes::ahead(100, 60);
        stripes.clear(90);
        stripes.follow(Plan::Open, &[0]);
        let pieces = [stripes.cut_open(MOST_PIECE), stripes.cut_open(MOST_PIECE)];
        assert_eq!(pieces, [Piece { offset: 0, len: 60 }, Piece { offset: 60, len: 30 }]);
        assert!(stripes.is_ahead(59) && !stripes.is_ahead(60));
        let mut stripes = Stripes::ahead(100, 60);
        stripes.clear(20);
        assert_eq!(stripes.remaining(), 20, "a short receive");
    }
}
