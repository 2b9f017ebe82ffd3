//! Two endpoints in one process talk through the provider's tables of functions, as libfabric would call them, over
//! the loopback interface.

#[macro_use]
mod node;
mod atomics;
mod events;
mod remote;

use fishplate_engine::INJECT_SIZE;
use node::{Node, Read, pair};
use ofi_abi::*;

/// The one that is tested.
fn provider() -> *mut fi_provider {
    fishplate_fi::fi_prov_ini()
}

#[test]
fn a_tagged_message_arrives_with_its_data_and_its_sender_is_known() {
    let (a, b) = pair();
    let mut buffer = [0u8; 16];
    b.trecv(&mut buffer, 0x70, 0x0f, 7);
    a.tsenddata(b"hello", 99, 0x75, 5);
    let sent = a.wait(&b);
    assert_eq!((sent.context, sent.flags), (5, FI_SEND | FI_TAGGED));
    let (received, source) = b.wait_from(&a);
    assert_eq!((received.context, received.flags), (7, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA));
    assert_eq!((received.len, received.data, received.tag), (5, 99, 0x75));
    assert_eq!(received.buf, buffer.as_ptr() as u64);
    assert_eq!(&buffer[..5], b"hello");
    assert_eq!(source, 0);
}

#[test]
fn injected_messages_are_copied_and_complete_silently() {
    let (a, b) = pair();
    let mut text = *b"first";
    assert_eq!(a.tinject(&text, 1), 0);
    text.copy_from_slice(b"other");
    let mut buffer = [0u8; 5];
    b.trecv(&mut buffer, 1, 0, 7);
    assert_eq!(b.wait(&a).len, 5);
    assert_eq!(&buffer, b"first");
    assert!(!a.has_read());
    // More than is offered is taken, up to a limit.
    let long = vec![0; INJECT_SIZE as usize + 1];
    assert_eq!(a.tinject(&long, 1), -(FI_EINVAL as isize));
}

#[test]
fn a_long_message_goes_through_several_pieces_of_memory() {
    let (a, b) = pair();
    let text: Vec<u8> = (0..3_000_000u32).map(|byte| (byte % 251) as u8).collect();
    let mut buffer = vec![0u8; text.len()];
    let (front, back) = buffer.split_at_mut(1_000_001);
    b.trecvv(&mut [front, back], 3, 7);
    a.tsenddata(&text, 0, 3, 5);
    assert_eq!(b.wait(&a).len, text.len());
    assert_eq!(a.wait(&b).context, 5);
    assert!(buffer == text);
}

#[test]
fn a_multi_receive_buffer_takes_messages_until_it_is_used_up() {
    let (a, b) = pair();
    let mut buffer = [0u8; 300];
    b.recv_multi(&mut buffer, 7);
    let start = buffer.as_ptr() as u64;
    let mut released = false;
    for round in 0..3u64 {
        let text = [round as u8; 100];
        a.send(&text, 5);
        let entry = b.wait(&a);
        a.wait(&b);
        assert_eq!((entry.context, entry.len, entry.buf), (7, 100, start + 100 * round));
        assert_eq!(entry.flags & !FI_MULTI_RECV, FI_RECV | FI_MSG);
        released = entry.flags & FI_MULTI_RECV != 0;
    }
    // Less than the minimum is free behind the third, or behind the second if that releases early.
    assert!(released);
    assert_eq!((buffer[0], buffer[100], buffer[200]), (0, 1, 2));
}

#[test]
fn peek_finds_claims_and_misses() {
    let (a, b) = pair();
    b.tpeek(1, FI_PEEK, 7);
    let missed = b.wait_error(&a);
    assert_eq!((missed.err, missed.context), (FI_ENOMSG, 7));
    assert_eq!(a.tinject(b"claimed", 1), 0);
    let found = loop {
        b.tpeek(1, FI_PEEK | FI_CLAIM, 8);
        match b.wait_any(&a) {
            Read::Entry(entry) => break entry,
            _ => assert_eq!(b.read_error().err, FI_ENOMSG),
        }
    };
    assert_eq!((found.context, found.len, found.tag), (8, 7, 1));
    let mut buffer = [0u8; 7];
    b.tclaim(&mut buffer, 8);
    assert_eq!(b.wait(&a).context, 8);
    assert_eq!(&buffer, b"claimed");
}

#[test]
fn a_sender_hears_that_its_message_was_received_although_the_receiver_does_not_come_back() {
    let (a, b) = pair();
    let len = INJECT_SIZE as usize + 1;
    let (text, mut buffer) = (vec![7u8; len], vec![0u8; len]);
    b.trecv(&mut buffer, 1, 0, 7);
    a.tsenddata(&text, 0, 1, 5);
    assert_eq!(b.wait(&a).context, 7);
    assert_eq!(a.wait_alone().context, 5);
}

#[test]
fn a_cancelled_receive_completes_with_an_error() {
    let (a, b) = pair();
    let mut buffer = [0u8; 7];
    b.trecv(&mut buffer, 1, 0, 7);
    b.cancel(7);
    let error = b.wait_error(&a);
    assert_eq!((error.err, error.context, error.flags & FI_RECV), (FI_ECANCELED, 7, FI_RECV));
}

#[test]
fn a_truncated_receive_reports_the_excess() {
    let (a, b) = pair();
    let mut buffer = [0u8; 3];
    b.trecv(&mut buffer, 1, 0, 7);
    assert_eq!(a.tinject(b"longer", 1), 0);
    let error = b.wait_error(&a);
    assert_eq!((error.err, error.len, error.olen, error.tag), (FI_ETRUNC, 3, 3, 1));
    assert_eq!(&buffer, b"lon");
}

#[test]
fn counters_count_what_completion_queues_do_not_show() {
    let (a, b) = node::pair_with_counters();
    let mut buffer = [0u8; 7];
    b.trecv(&mut buffer, 1, 0, 7);
    assert_eq!(a.tinject(b"counted", 1), 0);
    assert_eq!(b.wait(&a).context, 7);
    assert_eq!(b.counted(), 1);
    while a.counted() < 1 {
        b.read();
    }
    assert!(matches!(a.read(), Read::Nothing));
    b.trecv(&mut buffer, 2, 0, 9);
    b.cancel(9);
    assert_eq!(b.wait_error(&a).context, 9);
    assert_eq!(b.counter_errors(), 1);
}

#[test]
fn objects_in_use_cannot_be_closed() {
    let (a, _b) = pair();
    assert_eq!(a.try_close_parts(), [-FI_EBUSY; 4]);
}

#[test]
fn a_name_needs_room() {
    let node = Node::open(false);
    assert_eq!(node.name_with_room(3), (-FI_ETOOSMALL, 64));
    assert_eq!(node.name_with_room(64), (0, 64));
}
