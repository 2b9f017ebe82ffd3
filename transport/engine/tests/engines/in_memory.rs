//! The short way of messages through memory that both sides see, without a driver: what a frame is worth, who completes,
//! and what is left when the memory fails.

use fishplate_engine::policy::Striping;
use fishplate_engine::wire::{Body, Header, ReceiveRef};
use fishplate_engine::{
    Completion, Config, Context, Engine, Envelope, Extent, Failure, Instant, MemoryAction, Operation, Pattern, Payload,
    Placement, RailId, RecvRequest, Refusal, Region, Remote, SendRequest, Source, Space, SubchannelId, VcId,
    WriteRequest,
};

const NOW: Instant = Instant(1);

/// Two engines with a subchannel over a rail, and one in memory.
struct Pair {
    engines: [Engine; 2],
    rails: [SubchannelId; 2],
    memory: [SubchannelId; 2],
}

impl Pair {
    fn new() -> Pair {
        Pair::with(&Config::default())
    }

    fn with(config: &Config) -> Pair {
        let mut engines = [(); 2].map(|()| Engine::new(config.clone()));
        let both = engines.each_mut().map(|engine| {
            let vc = engine.open();
            let rail = engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
            let memory = engine.subchannel_up(vc, RailId(1), None, 0).unwrap();
            engine.prefer(memory);
            [rail, memory].iter().for_each(|subchannel| engine.writable(*subchannel, 1 << 20));
            (rail, memory)
        });
        while engines.iter_mut().any(|engine| engine.poll_transmit(NOW).is_some()) {}
        Pair { engines, rails: both.map(|(rail, _)| rail), memory: both.map(|(_, memory)| memory) }
    }

    fn send(&mut self, tag: u64, len: u64, notify: bool) -> Option<Header> {
        let (vc, envelope) = (self.memory[0].vc, Envelope::Tagged(tag));
        let payload = place(tag, len);
        let send = SendRequest { vc, envelope, data: Some(7), payload, inject: !notify, notify, context: Context(tag) };
        let (subchannel, header) = self.engines[0].send_in_memory(NOW, &send)?;
        assert_eq!(subchannel, self.memory[0]);
        Some(header)
    }

    fn post(&mut self, tag: u64, len: u64) {
        let pattern = Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None };
        let buffer = place(100 + tag, len);
        let context = Context(tag);
        self.engines[1].post_recv(RecvRequest { pattern, buffer, multi_min_free: None, notify: true, context });
    }

    /// Where the payload goes, if it is taken the short way.
    fn receive(&mut self, header: &Header) -> Option<Payload> {
        let mut placed = None;
        let taken = self.engines[1].receive_whole(NOW, self.memory[1], header, |place| placed = Some(place.clone()));
        taken.unwrap().then(|| placed.unwrap_or(Payload::EMPTY))
    }

    fn completion(&mut self, at: usize) -> Option<Completion> {
        self.engines[at].poll_completion()
    }
}

fn place(region: u64, len: u64) -> Payload {
    Payload::One(Extent { region: Region(region), offset: 0, len })
}

#[test]
fn a_message_with_a_receive_is_done_at_both_ends_at_once() {
    let mut pair = Pair::new();
    pair.post(3, 10);
    let header = pair.send(3, 8, true).unwrap();
    let sent = pair.completion(0).unwrap();
    assert_eq!((sent.operation, sent.context, sent.len), (Operation::Send, Context(3), 8));
    assert_eq!(pair.receive(&header), Some(place(103, 10)));
    let got = pair.completion(1).unwrap();
    assert_eq!((got.operation, got.len, got.data, got.result), (Operation::Recv, 8, Some(7), Ok(())));
    assert!(pair.engines[0].poll_transmit(NOW).is_none() && !pair.engines[0].is_quiet());
    pair.engines[0].delivered(NOW, pair.memory[0], 1).unwrap();
    assert!(pair.engines[0].is_quiet());
    assert!(pair.engines[0].delivered(NOW, pair.memory[0], 2).is_err(), "more than was sent");
    assert_eq!(pair.completion(0), None);
}

#[test]
fn messages_without_a_receive_or_truncated_or_long_end_as_elsewhere() {
    let mut pair = Pair::new();
    let unexpected = pair.send(1, 8, false).unwrap();
    assert_eq!(pair.completion(0), None, "an injected message is not reported");
    assert_eq!(pair.receive(&unexpected), None);
    let placed = pair.engines[1].handle_header(NOW, pair.memory[1], &unexpected).unwrap();
    assert!(matches!(placed, Placement::Bounce(_)));
    pair.engines[1].payload_placed(NOW, pair.memory[1]);
    pair.post(1, 8);
    assert!(matches!(pair.engines[1].poll_memory(), Some(MemoryAction::Copy { .. })));
    assert_eq!(pair.completion(1).unwrap().result, Ok(()));
    pair.post(2, 3);
    let long = pair.send(2, 8, false).unwrap();
    assert_eq!(pair.receive(&long), Some(place(102, 3)));
    assert!(pair.completion(1).unwrap().result.is_err());
    assert!(pair.send(3, 1 << 20, false).is_none(), "announced first");
}

#[test]
fn a_message_that_is_not_next_does_not_overtake() {
    let mut pair = Pair::new();
    (1..3).for_each(|tag| pair.post(tag, 8));
    let (first, second) = (pair.send(1, 8, false).unwrap(), pair.send(2, 8, false).unwrap());
    assert_eq!(pair.receive(&second), None);
    assert!(pair.receive(&first).is_some() && pair.receive(&second).is_some());
    assert_eq!(pair.receive(&second), None, "twice");
    let contexts = [pair.completion(1).unwrap().context, pair.completion(1).unwrap().context];
    assert_eq!(contexts, [Context(1), Context(2)]);
}

#[test]
fn frames_not_taken_when_memory_fails_go_over_the_rail_from_a_copy() {
    let mut pair = Pair::new();
    let headers: Vec<Header> =
        [8, 0, 5].iter().zip(1..).map(|(len, tag)| pair.send(tag, *len, false).unwrap()).collect();
    pair.engines[0].delivered(NOW, pair.memory[0], 1).unwrap();
    let mut copied = Vec::new();
    pair.engines[0].recover(pair.memory[0], |frame, len, _| {
        copied.push((frame, len));
        true
    });
    assert_eq!(copied, [(3, 5)], "frame 1 was taken, frame 2 is empty");
    pair.engines[0].subchannel_down(NOW, pair.memory[0], "test");
    let mut again = Vec::new();
    while let Some(frame) = pair.engines[0].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.rails[0]);
        if let Body::Eager { .. } = frame.header.body {
            assert!(frame.source.is_empty() || matches!(frame.source, Source::Bounce { .. }));
            again.push((frame.header.body, frame.header.repetition));
        }
    }
    assert_eq!(again, [(headers[1].body, 1), (headers[2].body, 1)]);
    pair.engines[0].delivered(NOW, pair.rails[0], 2).unwrap();
    assert!(pair.engines[0].is_quiet());
    assert!(matches!(pair.engines[0].poll_memory(), Some(MemoryAction::Release(_))));
}

#[test]
fn a_write_that_was_taken_has_not_succeeded_before_the_peer_says_so() {
    let mut pair = Pair::new();
    let (vc, payload) = (pair.memory[0].vc, place(1, 100));
    let to = Remote { key: 7, address: 0 };
    let write = WriteRequest { vc, to, data: None, payload, inject: false, notify: true, context: Context(1) };
    pair.engines[0].post_write(write).unwrap();
    let written = pair.engines[0].poll_transmit(NOW).unwrap().header;
    assert!(pair.send(2, 8, false).is_some());
    pair.engines[0].delivered(NOW, pair.memory[0], 2).unwrap();
    assert_eq!(pair.completion(0), None, "the peer may refuse it");
    let placed = pair.engines[1].handle_header(NOW, pair.memory[1], &written).unwrap();
    assert_eq!(placed, Placement::Discard);
    pair.engines[1].payload_placed(NOW, pair.memory[1]);
    let mut answers = Vec::new();
    while let Some(frame) = pair.engines[1].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.memory[1]);
        pair.engines[0].handle_header(NOW, pair.memory[0], &frame.header).unwrap();
        answers.push(frame.header.body);
    }
    assert!(matches!(answers[..], [Body::Refused { .. }]), "{answers:?}");
    assert_eq!(pair.completion(0).unwrap().result, Err(Failure::Refused(Refusal::Key)));
    pair.engines[1].delivered(NOW, pair.memory[1], 1).unwrap();
    assert!(
        pair.engines[0].is_quiet() && pair.engines[1].is_quiet(),
        "what was taken behind the write is delivered too"
    );
    assert!(pair.engines[0].delivered(NOW, pair.memory[0], 3).is_err(), "more than was sent");
}

#[test]
fn a_write_that_was_taken_goes_again_without_its_bytes() {
    let mut pair = Pair::new();
    let (vc, payload, to) = (pair.memory[0].vc, place(1, 100), Remote { key: 7, address: 0 });
    let write = WriteRequest { vc, to, data: None, payload, inject: true, notify: true, context: Context(1) };
    let key = pair.engines[0].post_write(write).unwrap();
    let number = |header: &Header| match header.body {
        Body::Write { number, len, .. } => Some((number, len, header.repetition)),
        _ => None,
    };
    assert_eq!(number(&pair.engines[0].poll_transmit(NOW).unwrap().header), Some((1, 100, 0)));
    assert!(pair.engines[0].keep_sent(key));
    pair.engines[0].delivered(NOW, pair.memory[0], 1).unwrap();
    pair.engines[0].recover(pair.memory[0], |_, _, _| false);
    pair.engines[0].subchannel_down(NOW, pair.memory[0], "test");
    let again = std::iter::from_fn(|| pair.engines[0].poll_transmit(NOW)).find_map(|frame| number(&frame.header));
    assert_eq!(again, Some((1, 0, 1)));
}

#[test]
fn a_rail_that_stands_by_can_be_let_go() {
    let mut pair = Pair::new();
    let vc = pair.memory[0].vc;
    let additional = pair.engines[0].subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
    assert!(pair.engines[0].retire(additional));
    assert!(!pair.engines[0].retire(pair.memory[0]), "it is the only one that carries");
    pair.engines[0].subchannel_down(NOW, pair.memory[0], "test");
    pair.engines[0].writable(additional, 1 << 20);
    pair.engines[0].post_send(message(vc, 1, 8)).unwrap();
    while let Some(frame) = pair.engines[0].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.rails[0]);
    }
}

#[test]
fn the_rest_of_a_long_message_goes_over_rails_as_their_policy_says() {
    for striping in [Striping::Even, Striping::Binding, Striping::Adaptive { alpha: 0.25 }, Striping::Earliest] {
        let config = Config { striping: striping.clone(), eager_limit: Some(0), ..Config::default() };
        let mut pair = Pair::with(&config);
        let (vc, len) = (pair.memory[0].vc, 3 << 20);
        pair.engines[0].post_send(message(vc, 1, len)).unwrap();
        let mut cut = 0;
        while cut == 0 {
            let frame = pair.engines[0].poll_transmit(NOW).unwrap();
            assert_eq!(frame.subchannel, pair.memory[0]);
            match frame.header.body {
                Body::RequestToSend { send, .. } => {
                    let body = Body::ClearToSend { send, receive: ReceiveRef(5), len };
                    let clear = Header { ack: 1, ..Header::without_acknowledgement(body) };
                    pair.engines[0].handle_header(NOW, pair.memory[0], &clear).unwrap();
                }
                body => cut = u64::from(body.payload_len()),
            }
        }
        pair.engines[0].recover(pair.memory[0], |_, _, _| unreachable!("the user has it"));
        pair.engines[0].subchannel_down(NOW, pair.memory[0], "test");
        let mut sent = 0;
        loop {
            pair.engines[0].writable(pair.rails[0], 1 << 20);
            let Some(frame) = pair.engines[0].poll_transmit(NOW) else { break };
            sent += u64::from(frame.header.body.payload_len());
        }
        assert_eq!(sent, len, "{striping:?}: {cut} bytes again, and the rest");
    }
}

fn message(vc: VcId, tag: u64, len: u64) -> SendRequest {
    let (envelope, payload, context) = (Envelope::Tagged(tag), place(tag, len), Context(tag));
    SendRequest { vc, envelope, data: None, payload, inject: false, notify: false, context }
}
