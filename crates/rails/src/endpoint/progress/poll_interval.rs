//! How often all sockets are asked for news; in between only the one that had news last is looked at.

use fishplate_engine::Instant;

/// Calls from one time to the next while sockets other than that one have news.
const OFTEN: u64 = 4;
/// The most, while only that one has any: to ask costs a system call, and a program that talks to one peer over one rail
/// would pay for all the others with every message.
const SELDOM: u64 = 64;
/// At the latest after so many nanoseconds, as some programs call rarely.
pub const LATEST_NS: u64 = 10_000;

/// When all sockets were asked, and when they are asked next.
pub struct Asking {
    last: Instant,
    every: u64,
    next_call: u64,
    heard: bool,
}

impl Asking {
    /// In the first call.
    pub fn new() -> Asking {
        Asking { last: Instant(0), every: OFTEN, next_call: 0, heard: false }
    }

    /// When they were asked last.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Only that one has had news for long.
    pub fn is_seldom(&self) -> bool {
        self.every == SELDOM
    }

    /// Whether they are to be asked in this call.
    pub fn is_due(&self, now: Instant, call: u64) -> bool {
        call >= self.next_call || now.since_ns(self.last) >= LATEST_NS
    }

    /// The one that is looked at in between had news.
    pub fn heard(&mut self) {
        self.heard = true;
    }

    /// They have been asked; `others` had news. While none has any, it is not known who will be the next.
    pub fn asked(&mut self, now: Instant, call: u64, others: bool) {
        self.every = match (others, self.heard) {
            (true, _) => OFTEN,
            (false, true) => (2 * self.every).min(SELDOM),
            (false, false) => self.every,
        };
        (self.last, self.next_call, self.heard) = (now, call + self.every, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_without_news_are_asked_less_and_less_often_until_one_has_some() {
        let mut asking = Asking::new();
        let mut asked_in = Vec::new();
        for call in 0..200 {
            if (20..150).contains(&call) {
                asking.heard();
            }
            if asking.is_due(Instant(1), call) {
                asked_in.push(call);
                asking.asked(Instant(1), call, call == 140);
            }
        }
        assert_eq!(asked_in, [0, 4, 8, 12, 16, 20, 28, 44, 76, 140, 144, 152, 168, 184]);
    }

    #[test]
    fn a_program_that_calls_rarely_asks_every_time() {
        let mut asking = Asking::new();
        let now = |call| Instant(call * LATEST_NS);
        assert!((1..100).all(|call| {
            let due = asking.is_due(now(call), call);
            asking.asked(now(call), call, false);
            due
        }));
    }
}
