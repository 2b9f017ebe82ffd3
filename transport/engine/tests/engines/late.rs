//! Frames that are late: the peer is asked, and short messages leave a subchannel that is late in the mean.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Config, Context, Engine, Envelope, Instant, Path, RailId, SendRequest, SubchannelId, VcId};

use crate::support::place;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// An endpoint with a peer over two rails, the first of which is nearer by 0.1 ms.
struct Pair {
    engine: Engine,
    near: SubchannelId,
    far: SubchannelId,
    /// Frames sent over each.
    sent: [u32; 2],
}

impl Pair {
    fn new() -> Pair {
        let mut engine = Engine::new(Config::default());
        engine.open();
        let near = up(&mut engine, 0, 20_000);
        let far = up(&mut engine, 1, 220_000);
        Pair { engine, near, far, sent: [0; 2] }
    }

    /// Sends a short message at `now`. Over which subchannel it goes.
    fn send(&mut self, now: Instant) -> SubchannelId {
        self.engine.post_send(SendRequest::new(VcId(0), Envelope::Message, place(0, 8), Context(1))).unwrap();
        let over = self.engine.poll_transmit(now).expect("there is room").subchannel;
        self.sent[usize::from(over == self.far)] += 1;
        over
    }

    /// The peer, whose clock is this one's, has said at `said_at` that it has everything that was sent over a subchannel.
    fn acknowledge(&mut self, now: Instant, over: SubchannelId, said_at: Instant) {
        let ack = self.sent[usize::from(over == self.far)];
        let sent_at_us = (said_at.0 / 1000) as u32;
        let header = Header { ack, sent_at_us, ..Header::without_acknowledgement(Body::Ack) };
        self.engine.handle_header(now, over, &header).unwrap();
    }

    /// Sends a short message, which is acknowledged so much later, when the peer has just got it. Over which subchannel it went.
    fn exchange(&mut self, now: Instant, after_ns: u64) -> SubchannelId {
        let over = self.send(now);
        let back_ns = if over == self.near { 10_000 } else { 110_000 };
        self.acknowledge(now.plus_ns(after_ns), over, now.plus_ns(after_ns - back_ns));
        over
    }
}

/// A subchannel of this rail, over a path of that round trip.
fn up(engine: &mut Engine, rail: u8, rtt_ns: u64) -> SubchannelId {
    let subchannel = engine.subchannel_up(VcId(0), RailId(rail), None, 1 << 20).unwrap();
    let path = Path { rtt_ns, min_rtt_ns: rtt_ns, delivery_rate: None, window: u64::MAX };
    engine.path_measured(Instant(0), subchannel, path);
    engine.writable(subchannel, 1 << 20);
    subchannel
}

#[test]
fn short_messages_leave_a_subchannel_on_which_one_was_very_late_and_come_back() {
    let mut pair = Pair::new();
    assert_eq!(pair.exchange(Instant(0), 30_000), pair.near);
    assert_eq!(pair.exchange(Instant(SECOND / 2), 200 * MS), pair.near);
    let over = [1, 2].map(|seconds| pair.exchange(Instant(seconds * SECOND), 230_000));
    assert_eq!(over, [pair.far; 2]);
    assert_eq!(pair.exchange(Instant(12 * SECOND), 30_000), pair.near);
}

#[test]
fn they_stay_where_frames_are_as_late_as_processes_are_now_and_then() {
    let mut pair = Pair::new();
    let over = [0, 1, 2].map(|seconds| pair.exchange(Instant(seconds * SECOND), 3 * MS));
    assert_eq!(over, [pair.near; 3]);
}

#[test]
fn an_acknowledgement_that_stands_behind_what_the_peer_sends_makes_nothing_late() {
    let mut pair = Pair::new();
    assert_eq!(pair.exchange(Instant(0), 30_000), pair.near);
    let now = Instant(SECOND);
    let over = pair.send(now);
    pair.acknowledge(now.plus_ns(200 * MS), over, now.plus_ns(20_000));
    assert_eq!(pair.exchange(Instant(2 * SECOND), 30_000), pair.near);
}

#[test]
fn a_subchannel_that_was_cut_is_remembered_when_its_rail_comes_back() {
    let mut pair = Pair::new();
    assert_eq!(pair.send(Instant(0)), pair.near);
    pair.engine.subchannel_down(Instant(200 * MS), pair.near, "it carried nothing while other rails did");
    assert_eq!(pair.engine.poll_transmit(Instant(200 * MS)).expect("it is sent again").subchannel, pair.far);
    pair.near = up(&mut pair.engine, 0, 20_000);
    assert_eq!(pair.send(Instant(SECOND)), pair.far);
}

/// When, in milliseconds, the peer is asked over the near subchannel, in a second in which it acknowledges nothing; its kernel
/// acknowledges what it is asked, if it `has_kernel`.
fn asks(has_kernel: bool) -> Vec<u64> {
    let mut pair = Pair::new();
    assert_eq!(pair.send(Instant(0)), pair.near);
    let mut is_asked = |at: &u64| {
        let now = Instant(at * MS);
        [pair.near, pair.far].into_iter().for_each(|subchannel| pair.engine.probe_if_overdue(now, subchannel));
        let transmit = pair.engine.poll_transmit(now);
        let is_asked =
            transmit.is_some_and(|transmit| (transmit.subchannel, transmit.header.body) == (pair.near, Body::Ping));
        if is_asked && has_kernel {
            pair.engine.made_progress(now, pair.near);
        }
        is_asked
    };
    (0..1000).step_by(5).filter(|at| is_asked(at)).collect()
}

#[test]
fn overdue_acknowledgements_are_probed_on_their_subchannel_with_growing_intervals_and_an_end() {
    assert_eq!(asks(false), [15, 25, 45, 85]);
    assert_eq!(asks(true), [15, 40, 85, 170], "the peer is away");
}

#[test]
fn a_question_that_is_not_answered_keeps_nobody_waiting_whether_the_peer_leaves_or_not() {
    let mut pair = Pair::new();
    let over = pair.send(Instant(0));
    pair.engine.probe_if_overdue(Instant(SECOND), over);
    assert_eq!(pair.engine.poll_transmit(Instant(SECOND)).expect("it is asked").header.body, Body::Ping);
    assert!(!pair.engine.is_quiet());
    pair.acknowledge(Instant(SECOND), over, Instant(SECOND));
    assert!(pair.engine.is_quiet());
    for subchannel in [pair.near, pair.far] {
        pair.engine.subchannel_down(Instant(SECOND), subchannel, "the peer has closed");
    }
    assert!(pair.engine.is_quiet());
}
