//! The TCP_INFO of a connection between near hosts, and what a driver reports of it to its engine (transport/rails:
//! `endpoint/tcp/tuning/sampling.rs`, `link/congestion/mod.rs`).

use fishplate_engine::Path;

use crate::events::Random;
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// How often a driver samples `TCP_INFO`.
pub const SAMPLING_INTERVAL: Time = Time::ms(5);
/// Delayed acknowledgement timer of a kernel.
const DELAYED_ACKNOWLEDGEMENT: Time = Time::ms(40);
/// Payload of a packet in bytes: longer data is acknowledged at once.
const SEGMENT: u64 = 1448;
/// Longest round trip of a near connection, in nanoseconds.
const NEAR_NS: u64 = 300_000;

/// Kernels' measurements, by flow: of near connections, where the engines' own acknowledgements do not measure it. A pair of
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

    /// A frame is sent; a pending acknowledgement of the other direction is piggybacked.
    pub fn segment_sent(&mut self, now: Time, flow: FlowId) {
        self.of(flow).into_iter().for_each(Connection::segment_sent);
        self.of(FlowId(flow.0 ^ 1)).into_iter().for_each(|connection| connection.reverse_segment_sent(now));
    }

    /// Bytes that were sent at `sent` have arrived; an acknowledgement that leaves now queues for `back`.
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
    /// Time of the last acknowledgement: segments that arrive at one time are one offload frame, and acknowledged once.
    last: Time,
    /// It was used since the last sample.
    is_used: bool,
}

impl Connection {
    /// The kernel's measurements of a new flow, with the time that a system call takes.
    fn new(call: Time) -> Connection {
        let (least, smoothed) = (call, call);
        Connection { call, least, smoothed, unacknowledged: None, last: Time::default(), is_used: false }
    }

    /// A frame is sent.
    fn segment_sent(&mut self) {
        self.is_used = true;
    }

    /// Bytes that were sent at `sent` have arrived.
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
        let ns = |time: Time| time.0 / 1000;
        let (rtt_ns, min_rtt_ns) = (ns(self.smoothed), ns(self.least));
        Some(Path { rtt_ns, min_rtt_ns, delivery_rate: None, window: u64::MAX })
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
    fn the_least_round_trip_is_that_of_a_system_call_and_an_unused_connection_says_nothing() {
        let mut connection = Connection::new(at(5.0));
        connection.segment_sent();
        connection.arrived(at(100.0), (at(0.0), at(0.0)), 65160);
        let path = connection.sample(at(200.0)).unwrap();
        assert!(path.min_rtt_ns == 5_000 && path.rtt_ns > 5_000);
        assert_eq!(connection.sample(at(1e6)), None);
    }

    #[test]
    fn a_short_segment_with_a_delayed_acknowledgement_looks_like_a_queue() {
        let mut connection = Connection::new(at(5.0));
        let smoothed_ns = |connection: &mut Connection, at_us| {
            connection.segment_sent();
            connection.sample(at(at_us)).unwrap().rtt_ns
        };
        connection.arrived(at(20.0), (at(10.0), at(0.0)), 100);
        connection.reverse_segment_sent(at(30.0));
        assert!(smoothed_ns(&mut connection, 5e3) < 10_000);
        connection.arrived(at(1e4), (at(1e4), at(0.0)), 100);
        connection.reverse_segment_sent(at(1e5));
        assert!(smoothed_ns(&mut connection, 1e5) > 1_000_000);
    }
}
