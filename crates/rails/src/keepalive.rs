//! How often the kernel asks idle peers whether they are still there.
//!
//! Each connection asks for itself, so what that costs a host grows with its ranks times their peers: 256 ranks of two hosts
//! have 32 768 connections, whose questions and answers, once a second, would take all of a processor and be lost in its
//! queues. So they are asked more rarely the more there are.

use std::time::Duration;

/// How often where connections are few: so an end that does not know that the other has given the connection up learns of it
/// soon after the path has healed.
pub const KEEPALIVE_AFTER: Duration = Duration::from_secs(1);
/// Questions that one host asks in a second, at most; each takes some 20 us of the processors of both hosts.
const MOST_A_SECOND: usize = 1024;

/// The pace of one endpoint.
#[derive(Debug)]
pub struct Keepalive {
    every: Duration,
    /// Processes of this host that ask as often, as far as is known.
    ranks: usize,
}

impl Keepalive {
    /// Of an endpoint of a host with so many ranks.
    pub fn new(ranks: usize) -> Keepalive {
        Keepalive { every: KEEPALIVE_AFTER, ranks: ranks.max(1) }
    }

    /// How often each connection asks.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// There are so many connections. True: all of them are to ask at another pace. It doubles and halves, so that this is
    /// rare.
    pub fn adapt(&mut self, connections: usize) -> bool {
        let seconds = (self.ranks * connections).div_ceil(MOST_A_SECOND).max(1).next_power_of_two();
        let every = KEEPALIVE_AFTER * seconds as u32;
        // Those that come and go at a limit change nothing.
        let changes = every > self.every || every * 4 <= self.every;
        if changes {
            self.every = every;
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_asked_every_second_and_many_so_that_a_host_asks_no_more_than_it_can() {
        let mut keepalive = Keepalive::new(128);
        assert!(!keepalive.adapt(8));
        assert_eq!(keepalive.every(), KEEPALIVE_AFTER);
        let changes = (1..=256).filter(|connections| keepalive.adapt(*connections)).count();
        assert_eq!((changes, keepalive.every()), (5, Duration::from_secs(32)));
        assert!(!keepalive.adapt(100), "half as many are no reason to set all anew");
        assert!(keepalive.adapt(8));
        assert_eq!(keepalive.every(), KEEPALIVE_AFTER);
    }
}
