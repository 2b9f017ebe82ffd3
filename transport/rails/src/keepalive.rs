//! The interval of TCP keep-alive probes.
//!
//! Each connection has probes of its own, so that their cost for a host grows with its ranks times their peers: 256 ranks of two
//! hosts have 32 768 connections, whose probes and answers, once a second, would take all of a processor and be lost in its
//! queues. So the interval grows with the number of connections.

use std::time::Duration;

/// The interval where connections are few. It is short so that an end learns soon after a path has healed that the other end has
/// given the connection up.
pub const KEEPALIVE_AFTER: Duration = Duration::from_secs(1);
/// Probes of one host in a second, at most; each takes some 20 us of the processors of both hosts.
const MAX_PER_SECOND: usize = 1024;

/// The keep-alive interval of one endpoint.
#[derive(Debug)]
pub struct Keepalive {
    every: Duration,
    /// Number of processes of this host that are assumed to probe as often.
    ranks: usize,
}

impl Keepalive {
    /// `ranks`: of the job on this host.
    pub fn new(ranks: usize) -> Keepalive {
        Keepalive { every: KEEPALIVE_AFTER, ranks: ranks.max(1) }
    }

    /// The interval of each connection.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// Adapts to the number of connections. True: the interval of all connections has to be changed. It changes by factors of two, so
    /// that this is rare.
    pub fn adapt(&mut self, connections: usize) -> bool {
        let seconds = (self.ranks * connections).div_ceil(MAX_PER_SECOND).max(1).next_power_of_two();
        let every = KEEPALIVE_AFTER * seconds as u32;
        // Hysteresis: connections that come and go at a limit change nothing.
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
