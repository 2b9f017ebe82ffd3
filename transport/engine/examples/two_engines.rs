//! Two engines in a network of two rails, 1000 and 250 Mbit/s, in virtual time: a message of 8 MiB is cut as the rails
//! can take it, and each carries its share. Nothing is random, so every run prints the same.
//!
//! `cargo run -p fishplate-engine --example two_engines` prints
//!
//! ```text
//! received 8388608 bytes after 53.9 ms
//! sent     8388608 bytes after 54.0 ms
//!  1000 Mbit/s carried 80.2 % of it
//!   250 Mbit/s carried 19.9 % of it
//! ```

use std::collections::VecDeque;

use fishplate_engine::wire::Header;
use fishplate_engine::{
    Completion, Config, Context, Engine, Envelope, Extent, Instant, Operation, Pattern, Payload, Placement, RailId,
    RecvRequest, Region, SendRequest, Source, SubchannelId,
};

/// Bytes a second.
const RATES: [f64; 2] = [125e6, 31.25e6];
/// One way.
const DELAY_NS: u64 = 20_000;
/// Length of a rail's queue in bytes, as of a socket with a short queue.
const QUEUE_BYTES: u64 = 128 << 10;
const MESSAGE_BYTES: usize = 8 << 20;
/// Virtual time goes on in steps.
const STEP_NS: usize = 5_000;

fn main() {
    let mut nodes = [Node::new(vec![7; MESSAGE_BYTES]), Node::new(vec![0; MESSAGE_BYTES])];
    let vcs = nodes.each_mut().map(|node| node.engine.open());
    for (index, rate) in RATES.into_iter().enumerate() {
        for me in [0, 1] {
            // Each side grants the other memory for unexpected messages.
            let grant = nodes[1 - me].engine.first_grant(vcs[1 - me]);
            let up = nodes[me].engine.subchannel_up(vcs[me], RailId(index as u8), Some(rate), grant);
            nodes[me].rails.push(Rail::new(rate, up.expect("two subchannels are not too many")));
        }
    }

    let whole = Payload::whole(Region(0), MESSAGE_BYTES as u64);
    let pattern = Pattern { source: Some(vcs[1]), ..Pattern::MESSAGE };
    nodes[1].engine.post_recv(RecvRequest::new(pattern, whole.clone(), Context(1)));
    let send = SendRequest::new(vcs[0], Envelope::Message, whole, Context(0));
    nodes[0].engine.post_send(send).expect("nothing else has been posted");

    let mut ended = 0;
    for now_ns in (0..).step_by(STEP_NS) {
        let now = Instant(now_ns);
        for me in [0, 1] {
            for completion in nodes[me].step(now) {
                tell(now, &completion);
                ended += 1;
            }
            for rail in 0..RATES.len() {
                while let Some(frame) = nodes[me].rails[rail].arrived(now) {
                    let over = nodes[1 - me].rails[rail].subchannel;
                    nodes[1 - me].receive(now, over, frame);
                }
            }
        }
        if ended == 2 {
            break;
        }
    }
    assert_eq!(nodes[0].memory, nodes[1].memory);
    for (rail, rate) in nodes[0].rails.iter().zip(RATES) {
        let share = rail.carried_bytes as f64 / MESSAGE_BYTES as f64;
        println!("{:5.0} Mbit/s carried {:4.1} % of it", rate * 8.0 / 1e6, 100.0 * share);
    }
}

fn tell(now: Instant, completion: &Completion) {
    let what = if completion.operation == Operation::Send { "sent" } else { "received" };
    println!("{:8} {} bytes after {:.1} ms", what, completion.len, now.0 as f64 / 1e6);
    assert_eq!(completion.result, Ok(()));
}

/// An engine, its memory, and its side of each rail.
struct Node {
    engine: Engine,
    memory: Vec<u8>,
    rails: Vec<Rail>,
}

impl Node {
    fn new(memory: Vec<u8>) -> Node {
        Node { engine: Engine::new(Config::default()), memory, rails: Vec::new() }
    }

    /// One round of a driver: it offers room, sends frames, and polls completions.
    fn step(&mut self, now: Instant) -> Vec<Completion> {
        self.engine.handle_timeout(now);
        for rail in &self.rails {
            self.engine.writable(rail.subchannel, rail.room(now));
        }
        while let Some(transmit) = self.engine.poll_transmit(now) {
            let payload = self.gather(&transmit.source);
            self.rails[usize::from(transmit.subchannel.index)].send(now, Frame { header: transmit.header, payload });
        }
        // Buffers of the driver, which this example does not come to need.
        while self.engine.poll_memory().is_some() {}
        std::iter::from_fn(|| self.engine.poll_completion()).collect()
    }

    /// A frame has come: the engine says where its payload belongs.
    fn receive(&mut self, now: Instant, over: SubchannelId, frame: Frame) {
        let placement = self.engine.handle_header(now, over, &frame.header).expect("the peer behaves");
        if frame.payload.is_empty() {
            return;
        }
        match placement {
            Placement::User(place) => self.place(&place, &frame.payload),
            // Padding, by which a path is measured.
            Placement::Discard => {}
            Placement::Bounce(_) => panic!("a receive was posted"),
        }
        self.engine.payload_placed(now, over);
    }

    fn place(&mut self, place: &Payload, mut rest: &[u8]) {
        for extent in place.extents() {
            let (part, left) = rest.split_at(extent.len as usize);
            self.memory[extent.offset as usize..][..part.len()].copy_from_slice(part);
            rest = left;
        }
    }

    fn gather(&self, source: &Source) -> Vec<u8> {
        let bytes = |extent: &Extent| &self.memory[extent.offset as usize..][..extent.len as usize];
        match source {
            Source::User(payload) => payload.extents().iter().flat_map(bytes).copied().collect(),
            Source::Padding { len } => vec![0; *len as usize],
            _ => panic!("nothing was buffered"),
        }
    }
}

struct Frame {
    header: Header,
    payload: Vec<u8>,
}

/// One direction of a rail: frames arrive in order, after the time that its rate and the delay take.
struct Rail {
    rate: f64,
    subchannel: SubchannelId,
    busy_until_ns: u64,
    carried_bytes: u64,
    frames: VecDeque<(u64, Frame)>,
}

impl Rail {
    fn new(rate: f64, subchannel: SubchannelId) -> Rail {
        Rail { rate, subchannel, busy_until_ns: 0, carried_bytes: 0, frames: VecDeque::new() }
    }

    /// Bytes that it can take.
    fn room(&self, now: Instant) -> u64 {
        let waiting = self.busy_until_ns.saturating_sub(now.0) as f64 * self.rate / 1e9;
        QUEUE_BYTES.saturating_sub(waiting as u64)
    }

    fn send(&mut self, now: Instant, frame: Frame) {
        let mut encoded = [0; fishplate_engine::wire::MAX_HEADER_LEN];
        let bytes = frame.header.encode(&mut encoded) + frame.payload.len();
        self.busy_until_ns = self.busy_until_ns.max(now.0) + (bytes as f64 / self.rate * 1e9) as u64;
        self.carried_bytes += frame.payload.len() as u64;
        self.frames.push_back((self.busy_until_ns + DELAY_NS, frame));
    }

    fn arrived(&mut self, now: Instant) -> Option<Frame> {
        let is_here = self.frames.front().is_some_and(|(at_ns, _)| *at_ns <= now.0);
        if is_here { self.frames.pop_front().map(|(_, frame)| frame) } else { None }
    }
}
