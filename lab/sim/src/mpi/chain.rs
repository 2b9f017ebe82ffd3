//! Why something happens when it does: a chain from the start of a program to there, of what each part of it took.
//!
//! A chain carries sums, not the chain itself: its parts add up to its time, to the picosecond, and it takes as much memory
//! after an hour as after a second. Where it went is kept in pieces of at least 1/4096 of the time so far, so at most some
//! ten thousand of them for each factor of ten in time, shared by all chains that went there.

use std::mem;
use std::rc::Rc;

use crate::models::time::Time;

/// A piece of a chain is not shorter than its end divided by this,
const PIECES: u64 = 4096;
/// nor than this time, as the first pieces would be very short.
const MIN_PIECE: Time = Time(1_000_000);

/// Categories of time along a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The program computes.
    Computation,
    /// The library and the kernel.
    Software,
    /// The way through the network, for a message without bytes; and timers.
    Latency,
    /// The rest of it: bytes on links and buses, and what was before them there.
    Bandwidth,
}

/// Time by [`Part`], in its order.
pub type Spent = [Time; 4];

/// A chain that ends now, or at another time that is known.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    at: Time,
    spent: Spent,
    /// Messages that it went over.
    messages: u64,
    rank: u32,
    last: Option<Rc<Node>>,
}

/// The end of a piece.
#[derive(Debug)]
struct Node {
    end: Piece,
    before: Option<Rc<Node>>,
}

/// A piece of a chain: until when, what was spent until then from the start, and the rank where that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its end.
    pub until: Time,
    /// All that was spent so far.
    pub spent: Spent,
    /// Where it ended.
    pub rank: u32,
}

impl Chain {
    /// Of a rank, at the start.
    pub fn of_rank(rank: u32) -> Chain {
        Chain { rank, ..Chain::default() }
    }

    /// When it ends.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Time by category; the sum is [`Chain::at`].
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Messages that it went over.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// It goes on until `time`. Where that is before its end, it ends there: a rank has acted although its core was still
    /// busy with something else, which did not matter then.
    pub fn go_on(&mut self, part: Part, time: Time) {
        if time < self.at {
            return self.shorten(self.at - time);
        }
        let took = time - self.at;
        let least = MIN_PIECE.later(Time(time.0 / PIECES));
        if took >= least {
            self.end_piece(least);
        }
        self.at = time;
        self.spent[part as usize] = self.spent[part as usize] + took;
        self.end_piece(least);
    }

    /// This chain, continued until `time`.
    pub fn to(&self, part: Part, time: Time) -> Chain {
        let mut chain = self.clone();
        chain.go_on(part, time);
        chain
    }

    /// It goes on at another rank, over a message that arrives there at `time`; an empty one would take `latency`.
    pub fn over_network(&self, rank: u32, latency: Time, time: Time) -> Chain {
        let latency = latency.min(time - self.at);
        let mut chain = self.to(Part::Bandwidth, time - latency);
        chain.go_on(Part::Latency, time);
        Chain { rank, messages: self.messages + 1, ..chain }
    }

    /// Its pieces, in order.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = vec![self.end()];
        let mut next = &self.last;
        while let Some(node) = next {
            pieces.push(node.end);
            next = &node.before;
        }
        pieces.reverse();
        pieces
    }

    fn end(&self) -> Piece {
        Piece { until: self.at, spent: self.spent, rank: self.rank }
    }

    fn end_piece(&mut self, least: Time) {
        let begun = self.last.as_ref().map_or(Time::default(), |node| node.end.until);
        if self.at > begun && self.at - begun >= least {
            self.last = Some(Rc::new(Node { end: self.end(), before: self.last.take() }));
        }
    }

    /// Software first: that is what a core was busy with.
    fn shorten(&mut self, by: Time) {
        self.at = self.at - by;
        let mut left = by;
        for part in [Part::Software, Part::Computation, Part::Bandwidth, Part::Latency] {
            let taken = left.min(self.spent[part as usize]);
            self.spent[part as usize] = self.spent[part as usize] - taken;
            left = left - taken;
        }
        while self.last.as_ref().is_some_and(|node| node.end.until > self.at) {
            self.last = self.last.take().and_then(|node| node.before.clone());
        }
    }
}

impl Drop for Node {
    /// One after the other: they are too many for a call within a call.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut node) = next.take().and_then(|node| Rc::try_unwrap(node).ok()) {
            next = mem::take(&mut node.before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    #[test]
    fn parts_add_up() {
        let chain = Chain::of_rank(3).to(Part::Computation, us(100)).to(Part::Software, us(103));
        let arrived = chain.over_network(5, us(20), us(150));
        assert_eq!(arrived.spent(), [us(100), us(3), us(20), us(27)]);
        assert_eq!((arrived.at(), arrived.messages()), (us(150), 1));
        // A message that is faster than an empty one, as links carry several at once.
        assert_eq!(chain.over_network(5, us(20), us(110)).spent(), [us(100), us(3), us(7), us(0)]);
        assert_eq!(chain.to(Part::Latency, us(101)).spent(), [us(100), us(1), us(0), us(0)]);
        let pieces: Vec<(Time, u32)> = arrived.pieces().iter().map(|piece| (piece.until, piece.rank)).collect();
        assert_eq!(pieces, [(us(100), 3), (us(103), 3), (us(130), 3), (us(150), 3), (us(150), 5)]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut chain = Chain::of_rank(0);
        for step in 1..=1_000_000 {
            chain = chain.to(Part::Software, us(step * 2 - 1)).to(Part::Computation, us(step * 2));
        }
        let pieces = chain.pieces().len();
        assert!((4096..60_000).contains(&pieces), "{pieces}");
        assert_eq!(chain.spent(), [us(1_000_000), us(1_000_000), us(0), us(0)]);
    }
}
