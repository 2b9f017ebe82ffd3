//! The TCP_INFO of a connection between near hosts, and what a driver reports of it to its engine (crates/rails:
//! `endpoint/tuning/sampling.rs`, `link/congestion/mod.rs`).

use fishplate_engine::Path;

use crate::events::Random;
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// A driver looks at its connections so often.
pub const LOOK_AFTER: Time = Time::ms(5);
/// A kernel waits so long for something to go back that an acknowledgement of a short segment can go with.
const ACKNOWLEDGED_AFTER: Time = Time::ms(40);
/// What is longer is acknowledged at once: payload of a packet, in bytes.
const SEGMENT: u64 = 1448;
/// Longest round trip of a near connection, in nanoseconds.
const NEAR_NS: u64 = 300_000;
/// A smoothed round trip above this is a queue: the connection counts as near no more.
const QUEUED: Time = Time::ms(1);
/// A near connection that has carried so many bytes drains faster than it is fed.
const AMPLE_AFTER: u64 = 16 << 20;

/// What kernels measure, by flow: of near connections, where the engines' own acknowledgements do not tell it. A pair of
/// flows, there and back, have numbers that differ in the last bit.
pub struct Kernels {
    connections: Vec<Option<Connection>>,
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
        let mut new = || near.map(|(call, _)| Connection::new(call + Time(self.random.below(call.0.max(1)))));
        let pair = [new(), new()];
        self.connections.extend(pair);
    }

    /// A frame with so much payload is sent; what has to be acknowledged of the other direction goes with it.
    pub fn sends(&mut self, now: Time, flow: FlowId, payload: u64) {
        self.of(flow).into_iter().for_each(|connection| connection.sends(payload));
        self.of(FlowId(flow.0 ^ 1)).into_iter().for_each(|connection| connection.answered(now));
    }

    /// So many bytes that were sent at `sent` have come; an acknowledgement that sets out now has to wait for `back`.
    pub fn came(&mut self, now: Time, flow: FlowId, (sent, back): (Time, Time), bytes: u64) {
        self.of(flow).into_iter().for_each(|connection| connection.came(now, (sent, back), bytes));
    }

    /// What the driver tells of a connection that was used since it looked last.
    pub fn look(&mut self, now: Time, flow: FlowId) -> Option<Path> {
        self.of(flow)?.look(now)
    }

    fn of(&mut self, flow: FlowId) -> Option<&mut Connection> {
        self.connections.get_mut(flow.0 as usize)?.as_mut()
    }
}

/// Segments that the receiving kernel has not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Owed {
    sent: Time,
    came: Time,
    bytes: u64,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// What is the least a round trip takes: segments are handed over within the system call that sends. Kernels find
    /// anything up to twice as much, and policies go by less than a microsecond of difference.
    call: Time,
    least: Time,
    smoothed: Time,
    owed: Option<Owed>,
    /// When it was acknowledged last: what comes at the same time is one offload frame, and acknowledged once.
    last: Time,
    carried: u64,
    /// Since the driver has looked.
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
            owed: None,
            last: Time::default(),
            carried: 0,
            is_used: false,
            is_near: true,
        }
    }

    /// A frame with so much payload is sent.
    fn sends(&mut self, payload: u64) {
        self.carried += payload;
        self.is_used = true;
    }

    /// So many bytes that were sent at `sent` have come.
    fn came(&mut self, now: Time, (sent, back): (Time, Time), bytes: u64) {
        self.wait_over(now);
        if self.last == now {
            return;
        }
        let owed = self.owed.get_or_insert(Owed { sent, came: now, bytes: 0 });
        owed.bytes += bytes;
        if owed.bytes > SEGMENT {
            self.acknowledged(now + back);
            self.last = now;
        }
    }

    /// Something goes the other way.
    fn answered(&mut self, now: Time) {
        self.wait_over(now);
        self.acknowledged(now);
    }

    /// What the driver tells, if the connection was used since it looked last.
    fn look(&mut self, now: Time) -> Option<Path> {
        self.wait_over(now);
        if !std::mem::take(&mut self.is_used) {
            return None;
        }
        self.is_near &= self.smoothed <= QUEUED;
        let ns = |time: Time| time.0 / 1000;
        let is_host_limited = self.is_near && self.carried >= AMPLE_AFTER;
        let (rtt_ns, min_rtt_ns) = (ns(self.smoothed), ns(self.least));
        Some(Path { rtt_ns, min_rtt_ns, delivery_rate: None, window: u64::MAX, is_host_limited })
    }

    /// The receiving kernel has waited long enough.
    fn wait_over(&mut self, now: Time) {
        if let Some(owed) = self.owed
            && now >= owed.came + ACKNOWLEDGED_AFTER
        {
            self.acknowledged(owed.came + ACKNOWLEDGED_AFTER);
        }
    }

    fn acknowledged(&mut self, at: Time) {
        let Some(owed) = self.owed.take() else { return };
        self.last = at;
        let sample = at - owed.sent + self.call;
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
    fn a_near_connection_that_has_carried_enough_without_a_queue_is_ample() {
        let mut connection = Connection::new(at(5.0));
        for frame in 0..17 {
            connection.sends(1 << 20);
            connection.came(at(f64::from(frame) * 1e4 + 100.0), (at(f64::from(frame) * 1e4), at(0.0)), 65160);
            let path = connection.look(at(f64::from(frame) * 1e4 + 200.0)).unwrap();
            assert_eq!(path.is_host_limited, frame >= 15);
            assert_eq!(path.min_rtt_ns, 5_000);
        }
        assert_eq!(connection.look(at(1e6)), None);
    }

    #[test]
    fn a_short_segment_that_nothing_answers_looks_like_a_queue() {
        let mut connection = Connection::new(at(5.0));
        connection.sends(17 << 20);
        connection.came(at(20.0), (at(10.0), at(0.0)), 100);
        connection.answered(at(30.0));
        assert!(connection.look(at(5e3)).unwrap().is_host_limited);
        connection.sends(100);
        connection.came(at(1e4), (at(1e4), at(0.0)), 100);
        assert!(connection.look(at(1.5e4)).unwrap().is_host_limited);
        connection.sends(100);
        connection.answered(at(1e5));
        assert!(!connection.look(at(1e5)).unwrap().is_host_limited);
    }
}
