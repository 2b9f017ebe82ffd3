//! Bursts of sends: many posted one behind the other, without a look at the network in between.
//!
//! A system call that transmits costs several microseconds, one that only adds to what the kernel keeps a fraction of
//! one. So from some point on a burst is handed to the kernel with the remark that more follows: it sends full segments,
//! and keeps the last one until the burst goes on, the user makes progress, the peer's kernel acknowledges what is
//! under way, or, at the latest, 0.2 s have passed. A few messages in a row, and so all that answer each other, are
//! never kept.

use fishplate_engine::Instant;

/// Sends in a row that are transmitted at once.
const AT_ONCE: u32 = 8;
/// Longest time from one send to the next in a burst, in nanoseconds: a few times what posting takes.
const LONGEST_GAP_NS: u64 = 20_000;

/// The burst that is going on, if one is.
#[derive(Default)]
pub struct Burst {
    length: u32,
    last: Instant,
    /// Links of which the kernel keeps something.
    kept: Vec<usize>,
}

impl Burst {
    /// A send is posted.
    pub fn posted(&mut self, now: Instant) {
        self.length = if now.since_ns(self.last) <= LONGEST_GAP_NS { self.length + 1 } else { 0 };
        self.last = now;
    }

    /// Whether what is sent now is likely to be followed by more.
    pub fn is_on(&self) -> bool {
        self.length >= AT_ONCE
    }

    /// The kernel keeps something of link `at`.
    pub fn kept(&mut self, at: usize) {
        if !self.kept.contains(&at) {
            self.kept.push(at);
        }
    }

    /// The user looks at the network: the links of which the kernel keeps something.
    pub fn end(&mut self) -> impl Iterator<Item = usize> + '_ {
        self.length = 0;
        self.kept.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_close_behind_many_is_kept() {
        let mut burst = Burst::default();
        for at in 1..=u64::from(AT_ONCE) {
            assert!(!burst.is_on());
            burst.posted(Instant(1_000_000 + at * LONGEST_GAP_NS));
        }
        burst.posted(Instant(1_000_000 + u64::from(AT_ONCE + 1) * LONGEST_GAP_NS));
        assert!(burst.is_on());
        burst.kept(3);
        burst.kept(3);
        assert_eq!(burst.end().collect::<Vec<_>>(), [3]);
        assert!(!burst.is_on());
        assert_eq!(burst.end().count(), 0);
    }
}
