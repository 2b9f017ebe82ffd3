//! A *burst*: many sends to one peer, posted one after the other without a progress call in between.

use fishplate_engine::Instant;

/// Sends at the start of a burst that are transmitted at once: they keep the rail busy while later ones are batched.
const AT_ONCE: u32 = 4;
/// Longest time from the end of one send to the next in a burst, in nanoseconds: a few times as long as posting takes.
const MAX_GAP_NS: u64 = 20_000;

/// The sends in a row to one peer.
#[derive(Default)]
pub struct Burst {
    length: u32,
    last: Instant,
    /// Number of the progress call before the last send.
    calls: u64,
}

impl Burst {
    /// A send is posted, after progress call number `calls`.
    pub fn posted(&mut self, now: Instant, calls: u64) {
        let is_continued = calls == self.calls && now.since_ns(self.last) <= MAX_GAP_NS;
        self.length = if is_continued { self.length + 1 } else { 0 };
        (self.last, self.calls) = (now, calls);
    }

    /// Transmitting the last send took until `now`: that time is no pause of the user.
    pub fn transmitted(&mut self, now: Instant) {
        self.last = now;
    }

    /// Whether further sends are likely to follow.
    pub fn is_active(&self, calls: u64) -> bool {
        calls == self.calls && self.length >= AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_close_behind_others_is_a_burst() {
        let mut burst = Burst::default();
        for at in 1..=u64::from(AT_ONCE) {
            assert!(!burst.is_active(7));
            burst.posted(Instant(1_000_000 + at * MAX_GAP_NS), 7);
        }
        burst.posted(Instant(1_000_000 + u64::from(AT_ONCE + 1) * MAX_GAP_NS), 7);
        assert!(burst.is_active(7));
        assert!(!burst.is_active(8), "the user has looked");
        let late = Instant(1_000_000 + u64::from(AT_ONCE + 3) * MAX_GAP_NS);
        burst.transmitted(late);
        burst.posted(late, 7);
        assert!(burst.is_active(7), "it was kept from posting");
        burst.posted(Instant(late.0 + 2 * MAX_GAP_NS), 7);
        assert!(!burst.is_active(7), "it has paused");
    }
}
