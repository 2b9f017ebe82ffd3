//! The TCP_INFO of a connection between near hosts, and what a driver reports of it to its engine (crates/rails:
//! `endpoint/tuning/sampling.rs`, `link/congestion/mod.rs`).

use fishplate_engine::Path;

use crate::events::Random;
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// How often a driver samples `TCP_INFO`.
pub const SAMPLING_INTERVAL: Time = Time::ms(5);
/// Delayed acknowledgement: a kernel waits so long for a segment on which to piggyback.
const DELAYED_ACKNOWLEDGEMENT: Time = Time::ms(40);
/// What is longer is acknowledged at once: payload of a packet, in bytes.
const SEGMENT: u64 = 1448;
/// Longest round trip of a near connection, in nanoseconds.
const NEAR_NS: u64 = 300_000;
/// A smoothed round trip above this shows a queue: the connection does not count as near any more.
const QUEUED: Time = Time::ms(1);
/// A near connection that has carried so many bytes is host-limited.
const HOST_LIMITED_AFTER: u64 = 16 << 20;

/// What kernels measure, by flow: of near connections, where the engines' own acknowledgements do not tell it. A pair of
/// flows, there and back, have numbers that differ in the last bit.
pub struct Kernels {
    connections: Vec<Option<Box<Connection>>>,
    random: Random,
}

impl Kernels {
    /// Of no connections yet.
    pub fn new(random: Random) -> Kernels {
        Kernels { connections: Vec::new(), random }
    }

    /// The next pair of flows; TCP's, if there is something to say of it: how long a system call takes, and a round
    /// trip in nanoseconds.
    pub fn add_pair(&mut self, tcp: Option<(Time, u64)>) {
        let near = tcp.filter(|(_, round_trip_ns)| *round_trip_ns <= NEAR_NS);
        let random = &mut self.random;
        let mut new = || near.map(|(call, _)| Box::new(Connection::new(call + Time(random.below(call.0.max(1))))));
        let pair = [new(), new()];
        self.connections.extend(pair);
    }

    /// A frame with so much payload is sent; a pending acknowledgement of the other direction is piggybacked.
    pub fn segment_sent(&mut self, now: Time, flow: FlowId, payload: u64) {
        self.of(flow).into_iter().for_each(|connection| connection.segment_sent(payload));
        self.of(FlowId(flow.0 ^ 1)).into_iter().for_each(|connection| connection.reverse_segment_sent(now));
    }

    /// So many bytes that were sent at `sent` have arrived; an acknowledgement that leaves now queues for `back`.
    pub fn arrived(&mut self, now: Time, flow: FlowId, (sent, back): (Time, Time), bytes: u64) {
        self.of(flow).into_iter().for_each(|connection| connection.arrived(now, (sent, back), bytes));
    }

    /// The path of a connection that was used since the last sample.
    pub fn sample(&mut self, now: Time, flow: FlowId) -> Option<Path> {
        self.of(flow)?.sample(now)
    }

    fn of(&mut self, flow: FlowId) -> Option<&mut Connection> {
        self.connections.get_mut(flow.0 as usize)?.as_deref_mut()
    }
}

/// Segments that the receiving kernel has not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    sent: Time,
    arrived: Time,
    bytes: u64,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Least round trip: segments are passed on within the system call that sends. Kernels measure
    /// anything up to twice as much, and policies go by less than a microsecond of difference.
    call: Time,
    least: Time,
    smoothed: Time,
    unacknowledged: Option<Unacknowledged>,
    /// When it was acknowledged last: segments that arrive at the same time are one offload frame, and acknowledged once.
    last: Time,
    carried: u64,
    /// It was used since the last sample.
    is_used: bool,
    is_near: bool,
}

impl Connection {
    /// A new one, whose system calls take so long.
    fn new(call: Time) -> Connection {
        let (least, smoothed) = (call, call);
        Connection {
            call,
            least,
            smoothed,
            unacknowledged: None,
            last: Time::default(),
            carried: 0,
            is_used: false,
            is_near: true,
        }
    }

    /// A frame with so much payload is sent.
    fn segment_sent(&mut self, payload: u64) {
        self.carried += payload;
        self.is_used = true;
    }

    /// So many bytes that were sent at `sent` have arrived.
    fn arrived(&mut self, now: Time, (sent, back): (Time, Time), bytes: u64) {
        self.expire_delayed_acknowledgement(now);
        if self.last == now {
            return;
        }
        let unacknowledged = self.unacknowledged.get_or_insert(Unacknowledged { sent, arrived: now, bytes: 0 });
        unacknowledged.bytes += bytes;
        if unacknowledged.bytes > SEGMENT {
            self.acknowledged(now + back);
            self.last = now;
        }
    }

    /// A segment is sent in the other direction.
    fn reverse_segment_sent(&mut self, now: Time) {
        self.expire_delayed_acknowledgement(now);
        self.acknowledged(now);
    }

    /// The path, if the connection was used since the last sample.
    fn sample(&mut self, now: Time) -> Option<Path> {
        self.expire_delayed_acknowledgement(now);
        if !std::mem::take(&mut self.is_used) {
            return None;
        }
        self.is_near &= self.smoothed <= QUEUED;
        let ns = |time: Time| time.0 / 1000;
        let is_host_limited = self.is_near && self.carried >= HOST_LIMITED_AFTER;
        let (rtt_ns, min_rtt_ns) = (ns(self.smoothed), ns(self.least));
        Some(Path { rtt_ns, min_rtt_ns, delivery_rate: None, window: u64::MAX, is_host_limited })
    }

    /// Sends a delayed acknowledgement that is due.
    fn expire_delayed_acknowledgement(&mut self, now: Time) {
        if let Some(unacknowledged) = self.unacknowledged
            && now >= unacknowledged.arrived + DELAYED_ACKNOWLEDGEMENT
        {
            self.acknowledged(unacknowledged.arrived + DELAYED_ACKNOWLEDGEMENT);
        }
    }

    fn acknowledged(&mut self, at: Time) {
        let Some(unacknowledged) = self.unacknowledged.take() else { return };
        self.last = at;
        let sample = at - unacknowledged.sent + self.call;
        self.least = self.least.min(sample);
        // RFC 6298.
        self.smoothed = Time((7 * self.smoothed.0 + sample.0) / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: f64) -> Time {
        Time::ns(us * 1e3)
    }

    #[test]
    fn a_near_connection_that_has_carried_enough_without_a_queue_is_host_limited() {
        let mut connection = Connection::new(at(5.0));
        for frame in 0..17 {
            connection.segment_sent(1 << 20);
            connection.arrived(at(f64::from(frame) * 1e4 + 100.0), (at(f64::from(frame) * 1e4), at(0.0)), 65160);
            let path = connection.sample(at(f64::from(frame) * 1e4 + 200.0)).unwrap();
            assert_eq!(path.is_host_limited, frame >= 15);
            assert_eq!(path.min_rtt_ns, 5_000);
        }
        assert_eq!(connection.sample(at(1e6)), None);
    }

    #[test]
    fn a_short_segment_with_a_delayed_acknowledgement_looks_like_a_queue() {
        let mut connection = Connection::new(at(5.0));
        connection.segment_sent(17 << 20);
        connection.arrived(at(20.0), (at(10.0), at(0.0)), 100);
        connection.reverse_segment_sent(at(30.0));
        assert!(connection.sample(at(5e3)).unwrap().is_host_limited);
        connection.segment_sent(100);
        connection.arrived(at(1e4), (at(1e4), at(0.0)), 100);
        assert!(connection.sample(at(1.5e4)).unwrap().is_host_limited);
        connection.segment_sent(100);
        connection.reverse_segment_sent(at(1e5));
        assert!(!connection.sample(at(1e5)).unwrap().is_host_limited);
    }
}
