//! The short way of messages through memory that both sides see, without a driver: what a frame is worth, who completes,
//! and what is left when the memory fails.

use fishplate_engine::policy::Striping;
use fishplate_engine::wire::{Body, Header, ReceiveRef};
use fishplate_engine::{
    Completion, Config, Context, Failure, MemoryAction, Operation, Placement, RailId, Refusal, Remote, SendRequest,
    Source, WriteRequest,
};

use crate::support::pair::{NOW, Pair};
use crate::support::place;

/// Two engines with a subchannel over a rail, and one in memory.
fn pair() -> Pair {
    Pair::in_memory(&Config::default())
}

impl Pair {
    fn send(&mut self, tag: u64, len: u64, notify: bool) -> Option<Header> {
        let send = SendRequest { inject: !notify, notify, ..self.message(tag, len) };
        let (subchannel, header) = self.engines[0].send_in_memory(NOW, &send)?;
        assert_eq!(subchannel, self.used);
        Some(header)
    }

    fn completion(&mut self, at: usize) -> Option<Completion> {
        self.engines[at].poll_completion()
    }
}

#[test]
fn a_message_with_a_receive_is_done_at_both_ends_at_once() {
    let mut pair = pair();
    pair.post(3, 10);
    let header = pair.send(3, 8, true).unwrap();
    let sent = pair.completion(0).unwrap();
    assert_eq!((sent.operation, sent.context, sent.len), (Operation::Send, Context(3), 8));
    assert_eq!(pair.receive(&header), Some(place(103, 10)));
    let got = pair.completion(1).unwrap();
    assert_eq!((got.operation, got.len, got.data, got.result), (Operation::Recv, 8, Some(7), Ok(())));
    assert!(pair.engines[0].poll_transmit(NOW).is_none() && !pair.engines[0].is_quiet());
    pair.engines[0].delivered(NOW, pair.used, 1).unwrap();
    assert!(pair.engines[0].is_quiet());
    assert!(pair.engines[0].delivered(NOW, pair.used, 2).is_err(), "more than was sent");
    assert_eq!(pair.completion(0), None);
}

#[test]
fn messages_without_a_receive_or_truncated_or_long_end_as_elsewhere() {
    let mut pair = pair();
    let unexpected = pair.send(1, 8, false).unwrap();
    assert_eq!(pair.completion(0), None, "an injected message is not reported");
    assert_eq!(pair.receive(&unexpected), None);
    let placed = pair.engines[1].handle_header(NOW, pair.used, &unexpected).unwrap();
    assert!(matches!(placed, Placement::Bounce(_)));
    pair.engines[1].payload_placed(NOW, pair.used);
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
    let mut pair = pair();
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
    let mut pair = pair();
    let headers: Vec<Header> =
        [8, 0, 5].iter().zip(1..).map(|(len, tag)| pair.send(tag, *len, false).unwrap()).collect();
    pair.engines[0].delivered(NOW, pair.used, 1).unwrap();
    let mut copied = Vec::new();
    pair.engines[0].recover(pair.used, |frame, len, _| {
        copied.push((frame, len));
        true
    });
    assert_eq!(copied, [(3, 5)], "frame 1 was taken, frame 2 is empty");
    pair.engines[0].subchannel_down(NOW, pair.used, "test");
    let mut again = Vec::new();
    while let Some(frame) = pair.engines[0].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.rail);
        if let Body::Eager { .. } = frame.header.body {
            assert!(frame.source.is_empty() || matches!(frame.source, Source::Bounce { .. }));
            again.push((frame.header.body, frame.header.repetition));
        }
    }
    assert_eq!(again, [(headers[1].body, 1), (headers[2].body, 1)]);
    pair.engines[0].delivered(NOW, pair.rail, 2).unwrap();
    assert!(pair.engines[0].is_quiet());
    assert!(matches!(pair.engines[0].poll_memory(), Some(MemoryAction::Release(_))));
}

#[test]
fn a_write_that_was_taken_has_not_succeeded_before_the_peer_says_so() {
    let mut pair = pair();
    let write = WriteRequest::new(pair.rail.vc, Remote { key: 7, address: 0 }, place(1, 100), Context(1));
    pair.engines[0].post_write(write).unwrap();
    let written = pair.engines[0].poll_transmit(NOW).unwrap().header;
    assert!(pair.send(2, 8, false).is_some());
    pair.engines[0].delivered(NOW, pair.used, 2).unwrap();
    assert_eq!(pair.completion(0), None, "the peer may refuse it");
    let placed = pair.engines[1].handle_header(NOW, pair.used, &written).unwrap();
    assert_eq!(placed, Placement::Discard);
    pair.engines[1].payload_placed(NOW, pair.used);
    let mut answers = Vec::new();
    while let Some(frame) = pair.engines[1].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.used);
        pair.engines[0].handle_header(NOW, pair.used, &frame.header).unwrap();
        answers.push(frame.header.body);
    }
    assert!(matches!(answers[..], [Body::Refused { .. }]), "{answers:?}");
    assert_eq!(pair.completion(0).unwrap().result, Err(Failure::Refused(Refusal::Key)));
    pair.engines[1].delivered(NOW, pair.used, 1).unwrap();
    assert!(
        pair.engines[0].is_quiet() && pair.engines[1].is_quiet(),
        "what was taken behind the write is delivered too"
    );
    assert!(pair.engines[0].delivered(NOW, pair.used, 3).is_err(), "more than was sent");
}

#[test]
fn a_write_that_was_taken_goes_again_without_its_bytes() {
    let mut pair = pair();
    let write = WriteRequest::new(pair.rail.vc, Remote { key: 7, address: 0 }, place(1, 100), Context(1));
    let key = pair.engines[0].post_write(WriteRequest { inject: true, ..write }).unwrap();
    let number = |header: &Header| match header.body {
        Body::Write { number, len, .. } => Some((number, len, header.repetition)),
        _ => None,
    };
    assert_eq!(number(&pair.engines[0].poll_transmit(NOW).unwrap().header), Some((1, 100, 0)));
    assert!(pair.engines[0].keep_sent(key));
    pair.engines[0].delivered(NOW, pair.used, 1).unwrap();
    pair.engines[0].recover(pair.used, |_, _, _| false);
    pair.engines[0].subchannel_down(NOW, pair.used, "test");
    let again = std::iter::from_fn(|| pair.engines[0].poll_transmit(NOW)).find_map(|frame| number(&frame.header));
    assert_eq!(again, Some((1, 0, 1)));
}

#[test]
fn a_rail_that_stands_by_can_be_let_go() {
    let mut pair = pair();
    let additional = pair.engines[0].subchannel_up(pair.rail.vc, RailId(0), None, 1 << 20).unwrap();
    assert!(pair.engines[0].retire(additional));
    assert!(!pair.engines[0].retire(pair.used), "it is the only one that carries");
    pair.engines[0].subchannel_down(NOW, pair.used, "test");
    pair.engines[0].writable(additional, 1 << 20);
    let message = SendRequest { notify: false, ..pair.message(1, 8) };
    pair.engines[0].post_send(message).unwrap();
    while let Some(frame) = pair.engines[0].poll_transmit(NOW) {
        assert_eq!(frame.subchannel, pair.rail);
    }
}

#[test]
fn the_rest_of_a_long_message_goes_over_rails_as_their_policy_says() {
    for striping in [Striping::Even, Striping::Binding, Striping::Adaptive { alpha: 0.25 }, Striping::Earliest] {
        let config = Config { striping: striping.clone(), eager_limit: Some(0), ..Config::default() };
        let mut pair = Pair::in_memory(&config);
        let len = 3 << 20;
        let message = SendRequest { notify: false, ..pair.message(1, len) };
        pair.engines[0].post_send(message).unwrap();
        let mut cut = 0;
        while cut == 0 {
            let frame = pair.engines[0].poll_transmit(NOW).unwrap();
            assert_eq!(frame.subchannel, pair.used);
            match frame.header.body {
                Body::RequestToSend { send, .. } => {
                    let body = Body::ClearToSend { send, receive: ReceiveRef(5), len };
                    let clear = Header { ack: 1, ..Header::without_acknowledgement(body) };
                    pair.engines[0].handle_header(NOW, pair.used, &clear).unwrap();
                }
                body => cut = u64::from(body.payload_len()),
            }
        }
        pair.engines[0].recover(pair.used, |_, _, _| unreachable!("the user has it"));
        pair.engines[0].subchannel_down(NOW, pair.used, "test");
        let mut sent = 0;
        loop {
            pair.engines[0].writable(pair.rail, 1 << 20);
            let Some(frame) = pair.engines[0].poll_transmit(NOW) else { break };
            sent += u64::from(frame.header.body.payload_len());
        }
        assert_eq!(sent, len, "{striping:?}: {cut} bytes again, and the rest");
    }
}
