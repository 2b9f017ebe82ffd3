//! Messages that a driver has read whole, over a rail: they are in place in one call, or take the way of all others.

use fishplate_engine::wire::Header;
use fishplate_engine::{Context, Operation, Payload, Placement};

use crate::support::pair::{NOW, Pair};
use crate::support::place;

/// The header of a message from the first to the second.
fn send(pair: &mut Pair, tag: u64, len: u64) -> Header {
    let message = pair.message(tag, len);
    pair.engines[0].post_send(message).unwrap();
    pair.engines[0].poll_transmit(NOW).unwrap().header
}

#[test]
fn a_message_with_a_receive_is_in_place_at_once_and_acknowledged_as_all_others() {
    let mut pair = Pair::over_rail();
    for (count, len) in [(1, 8), (2, 0)] {
        pair.post(3, 10);
        let header = send(&mut pair, 3, len);
        assert_eq!(pair.receive(&header), Some(if len > 0 { place(103, 10) } else { Payload::EMPTY }));
        let got = pair.engines[1].poll_completion().unwrap();
        assert_eq!((got.operation, got.len, got.data, got.result), (Operation::Recv, len, Some(7), Ok(())));
        assert!(pair.engines[1].has_pending_acks(), "the sender waits for it");
        let due = pair.engines[1].poll_timeout().unwrap();
        pair.engines[1].handle_timeout(due);
        let answer = pair.engines[1].poll_transmit(due).unwrap().header;
        assert_eq!(answer.ack, count);
        pair.engines[0].handle_header(due, pair.rail, &answer).unwrap();
        let sent = pair.engines[0].poll_completion().unwrap();
        assert_eq!((sent.operation, sent.context, sent.result), (Operation::Send, Context(3), Ok(())));
        assert!(pair.engines[0].is_quiet());
    }
}

#[test]
fn whole_messages_without_a_receive_or_out_of_order_or_behind_a_payload_take_the_general_path() {
    let mut pair = Pair::over_rail();
    pair.post(4, 10);
    let (first, second) = (send(&mut pair, 3, 8), send(&mut pair, 4, 8));
    assert_eq!(pair.receive(&first), None, "no receive");
    assert_eq!(pair.receive(&second), None, "it is not next");
    let placement = pair.engines[1].handle_header(NOW, pair.rail, &first).unwrap();
    assert!(matches!(placement, Placement::Bounce(_)));
    assert_eq!(pair.receive(&second), None, "the payload before it is not in place");
    pair.engines[1].payload_placed(NOW, pair.rail);
    assert_eq!(pair.receive(&second), Some(place(104, 10)));
    assert_eq!(pair.engines[1].poll_completion().unwrap().context, Context(4));
}
