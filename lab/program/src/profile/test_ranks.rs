//! Ranks for tests, made up.

use fishplate_host::{Host, HostId};
use fishplate_profile::calls;
use fishplate_profile::read::{Event, Rank};

use super::raw::RawRank;

pub fn call(name: &str) -> usize {
    calls::table().iter().position(|call| call.name == name).unwrap()
}

/// The only host with a name.
pub fn host_id(name: &str) -> HostId {
    Host::named(name).id()
}

/// A rank that ran from 1000 to 2000 ns of its clock, and did nothing.
pub fn rank(rank: usize, ranks: usize) -> RawRank {
    let counts = Rank {
        host: "a".into(),
        host_id: host_id("a"),
        clock: "boot-a".into(),
        pid: 100 + rank as u64,
        program: "/home/me/app".into(),
        library: "MPICH Version: 5".into(),
        started_realtime_ns: 1_000_000,
        started_ns: 1000,
        last_ns: 2000,
        ..Rank::idle(rank, ranks)
    };
    RawRank { counts, series: None, ended_ns: 2000 }
}

impl RawRank {
    /// With an event, and the time of its call where that waits itself.
    pub fn event(mut self, kind: u64, name: &str, number: u64, [posted_ns, waited_ns, done_ns]: [u64; 3]) -> RawRank {
        let call = call(name);
        self.counts.events.push(Event { kind, call, is_root: false, key: 7, number, posted_ns, waited_ns, done_ns });
        let counts = &mut self.counts.calls[call];
        counts.count += 1;
        counts.time_ns += done_ns.saturating_sub(waited_ns);
        self
    }

    /// Being the root of its last event.
    pub fn being_root(mut self) -> RawRank {
        self.counts.events.last_mut().unwrap().is_root = true;
        self
    }

    /// On another machine, whose clock is ahead.
    pub fn on(mut self, host: &str, ahead_ns: u64) -> RawRank {
        let counts = &mut self.counts;
        (counts.host, counts.host_id, counts.clock) = (host.into(), host_id(host), format!("boot-{host}"));
        for time in [&mut counts.started_ns, &mut counts.last_ns] {
            *time += ahead_ns;
        }
        for Event { posted_ns, waited_ns, done_ns, .. } in &mut counts.events {
            for time in [posted_ns, waited_ns, done_ns] {
                *time += ahead_ns;
            }
        }
        self
    }
}
