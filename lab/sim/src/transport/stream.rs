//! A stream of messages from one host to another, for as long as it takes to say how fast it is.

use fishplate_engine::{Context, Envelope, Extent, Operation, Pattern, Payload, RecvRequest, SendRequest, Space};

use super::ids::HostId;
use super::ledger::vc;
use super::setup::Setup;
use super::world::World;
use crate::events::{Duration, Time};

/// A stream of messages of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Length of each message.
    pub message_bytes: u64,
    /// Messages that are posted and have not arrived, at any time.
    pub under_way: u64,
    /// Virtual time that passes before anything is counted.
    pub before: Duration,
    /// Virtual time in which what arrives is counted.
    pub measured: Duration,
}

const FROM: HostId = HostId(0);
const TO: HostId = HostId(1);

/// Bytes a second that arrive.
///
/// # Panics
/// If the transport breaks on the way.
pub fn goodput(setup: Setup, stream: Stream) -> f64 {
    let mut world = World::new(setup, false);
    world.observed = Some(0);
    let source = world.memories[FROM.0].allocate_payload(0, stream.message_bytes);
    let sink = world.memories[TO.0].allocate_blank(stream.message_bytes);
    let payload = |region| Payload::One(Extent { region, offset: 0, len: stream.message_bytes });
    (0..stream.under_way).for_each(|_| world.stream_message(payload(source), payload(sink)));
    let mut arrived = 0;
    let start = Time::START + stream.before;
    let end = start + stream.measured;
    let mut before = 0;
    while world.queue.now() < end && world.step(end) {
        let now_arrived = world.observed.unwrap_or(0);
        if world.queue.now() < start {
            before = now_arrived;
        }
        for _ in arrived..now_arrived {
            world.stream_message(payload(source), payload(sink));
        }
        arrived = now_arrived;
    }
    assert_eq!(world.violation, None, "a stream without faults");
    ((arrived - before) * stream.message_bytes) as f64 / stream.measured.as_s()
}

impl World {
    fn stream_message(&mut self, from: Payload, to: Payload) {
        let pattern = Pattern { space: Space::Message, source: None };
        let request =
            RecvRequest { pattern, buffer: to, multi_min_free: None, notify: true, context: Context(u64::MAX) };
        self.hosts[TO.0].engine.post_recv(request);
        let request = SendRequest {
            vc: vc(TO),
            envelope: Envelope::Message,
            data: None,
            payload: from,
            inject: false,
            notify: false,
            context: Context(u64::MAX),
        };
        // Only a lost peer is refused, and no peer is lost here.
        let _ = self.hosts[FROM.0].engine.post_send(request);
        self.progress(TO);
        self.progress(FROM);
    }

    /// Completions are counted, not watched. True if that is so.
    pub(super) fn observes(&mut self, operation: Operation) -> bool {
        let Some(arrived) = &mut self.observed else { return false };
        *arrived += u64::from(operation == Operation::Recv);
        true
    }
}
