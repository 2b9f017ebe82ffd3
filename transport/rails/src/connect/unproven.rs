//! Accepted connections whose handshake is not complete. Their number and time are bounded here, their bytes by the handshake.
//! Anybody who reaches a port can make some: they must not keep out the connection of a real peer.

use std::net::SocketAddr;

use fishplate_engine::Instant;
use slab::Slab;

use super::incoming::Incoming;

/// Unproven connections, at most, of a large job or a job of unknown size: all of its ranks may connect to one at the same time.
const MAX_UNPROVEN: usize = 1024;
/// Unproven connections for each rank of a job: over several rails and streams.
const PLACES_OF_A_RANK: usize = 8;
/// Lower bound of the limit, for small jobs. Strangers can take up to as many of its files.
const MIN_UNPROVEN: usize = 64;
/// How long a connection may stay unproven, in nanoseconds: several round trips of any network, with losses.
const UNPROVEN_FOR_NS: u64 = 10_000_000_000;
/// For how long a connection keeps its place while others wait in the kernel, in nanoseconds: with [`MAX_UNPROVEN`] places, so
/// that strangers do not keep them; and with fewer for lack of files, where peers share busy processors. A connection that has
/// named this endpoint always keeps its place for the longer time.
const PATIENCE_NS: [u64; 2] = [100_000_000, 1_000_000_000];
/// Mean time between two accepted connections of all listeners together, in nanoseconds; others wait in the kernel. A flood gets
/// a few hundredths of a core; a rank to which 1000 others connect at once accepts all in 0.3 s.
const ACCEPT_EVERY_NS: u64 = 312_500;
/// Connections that may be accepted in a row after a pause: ranks that share processors poll rarely, and many others of their
/// job have connected by then. They take 1 to 3 ms.
const MAX_ACCEPTS_AT_ONCE: u32 = 256;

#[derive(Debug)]
pub struct UnprovenConnections {
    incoming: Slab<Incoming>,
    /// Maximum number of connections.
    places: usize,
    /// Connections that may be accepted, as of `allowed_at`.
    allowed: u32,
    allowed_at: Instant,
}

impl UnprovenConnections {
    /// For a job of `ranks`; `None`: of unknown size.
    pub fn new(ranks: Option<u32>) -> Self {
        let of_job = |ranks: u32| (ranks as usize * PLACES_OF_A_RANK).clamp(MIN_UNPROVEN, MAX_UNPROVEN);
        let places = ranks.map_or(MAX_UNPROVEN, of_job);
        UnprovenConnections { incoming: Slab::new(), places, allowed: MAX_ACCEPTS_AT_ONCE, allowed_at: Instant(0) }
    }

    /// Whether another connection may be accepted before the next tick.
    pub fn may_accept(&self) -> bool {
        self.allowed > 0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.incoming.is_empty()
    }

    /// A connection was accepted.
    pub fn accepted(&mut self) {
        self.allowed = self.allowed.saturating_sub(1);
    }

    /// Whether there is room for another connection among `most`, or the one that would be closed for it has had its time.
    pub fn has_room(&self, most: usize, now: Instant) -> bool {
        let has_had_its_time = |(_, oldest): (usize, &Incoming)| {
            let is_patient = most < self.places || oldest.has_named_us();
            now.since_ns(oldest.since) >= PATIENCE_NS[usize::from(is_patient)]
        };
        self.incoming.len() < most.min(self.places) || self.first_to_close().is_some_and(has_had_its_time)
    }

    /// The connection to close first: the oldest that has not named this endpoint, else the oldest.
    fn first_to_close(&self) -> Option<(usize, &Incoming)> {
        self.incoming.iter().min_by_key(|(_, incoming)| (incoming.has_named_us(), incoming.since))
    }

    /// Closes connections that have timed out, and allows further accepts.
    pub fn tick(&mut self, now: Instant) {
        let earned = now.since_ns(self.allowed_at) / ACCEPT_EVERY_NS;
        self.allowed = earned.saturating_add(self.allowed.into()).min(MAX_ACCEPTS_AT_ONCE.into()) as u32;
        self.allowed_at = self.allowed_at.plus_ns(earned * ACCEPT_EVERY_NS);
        self.incoming.retain(|_, incoming| now.since_ns(incoming.since) < UNPROVEN_FOR_NS);
    }

    /// Adds a connection; returns its number, and the connection that was closed to make room for it among `most`. A peer's
    /// connection names this endpoint within a round trip, sooner than a flood gets through all places.
    pub fn add(&mut self, connection: Incoming, most: usize) -> (usize, Option<SocketAddr>) {
        let is_full = self.incoming.len() >= most.min(self.places);
        let oldest = if is_full { self.first_to_close().map(|(at, _)| at) } else { None };
        let closed = oldest.map(|at| self.incoming.remove(at).remote);
        (self.incoming.insert(connection), closed)
    }

    /// Why a connection was closed, where files leave room for `most`; for the log.
    pub fn describe_crowd(&self, most: usize) -> String {
        let (bound, why) = match most < self.places {
            true => (most, "the most for which the limit of open files leaves room (`ulimit -n`)"),
            false => (self.places, "the most that may be"),
        };
        format!("{bound} others are not proven yet, {why}")
    }

    /// A connection, by its number.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Incoming> {
        self.incoming.get_mut(at)
    }

    /// Removes a connection.
    pub fn remove(&mut self, at: usize) -> Option<Incoming> {
        self.incoming.try_remove(at)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::handshake::tests::{OFFER, party};
    use crate::handshake::{self, Acceptor, Initiator, Terms};

    const CAPACITY: usize = 4;

    struct TestListener {
        listener: TcpListener,
        /// The other ends of its connections.
        clients: Vec<TcpStream>,
    }

    impl TestListener {
        fn open() -> TestListener {
            TestListener { listener: TcpListener::bind("127.0.0.1:0").unwrap(), clients: Vec::new() }
        }

        fn connect(&mut self, since: u64) -> Incoming {
            self.clients.push(TcpStream::connect(self.listener.local_addr().unwrap()).unwrap());
            let (stream, remote) = self.listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            Incoming::new(
                stream,
                (remote, None),
                Instant(since),
                Acceptor::new(party(9, Terms::default()), [since as u8; 16]),
            )
        }
    }

    #[test]
    fn a_flood_closes_its_own_connections_and_not_that_of_a_peer() {
        use std::io::Write;
        let (mut listener, mut unproven) = (TestListener::open(), UnprovenConnections::new(None));
        let (peer, _) = unproven.add(listener.connect(0), CAPACITY);
        let me = handshake::tests::address(9, 9);
        let (_, hello) = Initiator::start(&party(5, Terms::default()), &me, [1; 16], OFFER, false).unwrap();
        listener.clients[0].write_all(&hello).unwrap();
        while !unproven.get_mut(peer).unwrap().has_named_us() {
            assert!(unproven.get_mut(peer).unwrap().advance(|_| None).unwrap().is_none());
        }
        let mut closed = Vec::new();
        for at in 1..=100 {
            closed.extend(unproven.add(listener.connect(at), CAPACITY).1);
        }
        let flood: Vec<_> = listener.clients[1..].iter().map(|client| client.local_addr().unwrap()).collect();
        // In the order in which they came, but for the three newest.
        assert_eq!(closed, flood[..97]);
        assert!(unproven.get_mut(peer).is_some());
    }

    #[test]
    fn a_small_job_has_few_places() {
        let places = |ranks| UnprovenConnections::new(ranks).places;
        assert_eq!([Some(2), Some(8), Some(64), Some(5000), None].map(places), [64, 64, 512, 1024, 1024]);
        let (mut listener, mut unproven) = (TestListener::open(), UnprovenConnections::new(Some(2)));
        for at in 0..MIN_UNPROVEN as u64 {
            assert!(unproven.has_room(usize::MAX, Instant(at)));
            assert_eq!(unproven.add(listener.connect(at), usize::MAX).1, None);
        }
        assert!(!unproven.has_room(usize::MAX, Instant(PATIENCE_NS[0] - 1)));
        assert!(unproven.has_room(usize::MAX, Instant(PATIENCE_NS[0])));
        assert!(unproven.add(listener.connect(64), usize::MAX).1.is_some());
    }

    #[test]
    fn the_bound_of_connections_is_reported() {
        let description = |most| UnprovenConnections::new(Some(64)).describe_crowd(most);
        assert_eq!(description(5000), "512 others are not proven yet, the most that may be");
        assert!(
            description(7)
                .starts_with("7 others are not proven yet, the most for which the limit of open files leaves")
        );
    }

    #[test]
    fn nobody_stays_unproven_for_long() {
        let (mut listener, mut unproven) = (TestListener::open(), UnprovenConnections::new(None));
        let (at, _) = unproven.add(listener.connect(7), CAPACITY);
        unproven.tick(Instant(6 + UNPROVEN_FOR_NS));
        assert!(unproven.get_mut(at).is_some());
        unproven.tick(Instant(7 + UNPROVEN_FOR_NS));
        assert!(unproven.get_mut(at).is_none());
    }

    #[test]
    fn as_many_are_taken_as_time_has_passed_and_no_more_in_a_row() {
        let mut unproven = UnprovenConnections::new(None);
        let mut flood_at = |now: u64| {
            unproven.tick(Instant(now));
            let mut taken = 0;
            while unproven.may_accept() {
                unproven.accepted();
                taken += 1;
            }
            taken
        };
        let tick = 16 * ACCEPT_EVERY_NS;
        assert_eq!([tick, 2 * tick, 2 * tick + 1, 3 * tick].map(&mut flood_at), [MAX_ACCEPTS_AT_ONCE, 16, 0, 16]);
        assert_eq!([1_000, 1_001].map(|ticks| flood_at(ticks * tick)), [MAX_ACCEPTS_AT_ONCE, 16]);
    }

    #[test]
    fn others_wait_until_the_oldest_has_had_its_time() {
        let (mut listener, mut unproven) = (TestListener::open(), UnprovenConnections::new(None));
        for since in [7, 8] {
            assert!(unproven.has_room(2, Instant(8)));
            unproven.add(listener.connect(since), 2);
        }
        assert!(!unproven.has_room(2, Instant(6 + PATIENCE_NS[1])));
        assert!(unproven.has_room(2, Instant(7 + PATIENCE_NS[1])));
        assert!(unproven.add(listener.connect(9), 2).1.is_some());
        assert!(!unproven.has_room(2, Instant(7 + PATIENCE_NS[1])));
    }
}
