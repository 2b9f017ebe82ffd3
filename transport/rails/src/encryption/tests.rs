//! Two sides that agree, and records that an attacker between them has changed.

use super::*;
use crate::address::Token;
use crate::secret::TokenKey;

const TOKEN: Token = Token([42; 16]);
const TRANSCRIPT: [&[u8]; 2] = [b"hello", b"challenge"];

/// The keys of both sides, with what each of them believes.
fn agree(tokens: [Token; 2], transcripts: [[&[u8]; 2]; 2]) -> [Keys; 2] {
    let tokens = tokens.map(|token| TokenKey::of(&token, None));
    let (initiator, acceptor) = (Ephemeral::generate().unwrap(), Ephemeral::generate().unwrap());
    let (from_initiator, from_acceptor) = (*initiator.share(), *acceptor.share());
    [
        initiator.agree(Side::Initiator, &from_acceptor, &tokens[0], transcripts[0]).unwrap(),
        acceptor.agree(Side::Acceptor, &from_initiator, &tokens[1], transcripts[1]).unwrap(),
    ]
}

fn agreed() -> [Keys; 2] {
    agree([TOKEN; 2], [TRANSCRIPT; 2])
}

fn seal(sealing: &mut Sealing, content: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    sealing.seal(&mut record, |out| out.extend_from_slice(content));
    record
}

fn open(opening: &mut Opening, record: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
    let mut bytes = record.to_vec();
    Ok(opening.open(&mut bytes, 0)?.map(|opened| bytes[..opened.content_len].to_vec()))
}

#[test]
fn records_of_both_directions_open_at_the_other_side_only() {
    let [mut a, mut b] = agreed();
    for len in [1, 15, 16, 17, 1000, MAX_CONTENT] {
        let content: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let (ahead, back) = (seal(&mut a.sealing, &content), seal(&mut b.sealing, &content));
        assert!(ahead != back, "both directions use the same key");
        assert_eq!(open(&mut b.opening, &ahead), Ok(Some(content.clone())));
        assert_eq!(open(&mut a.opening, &back), Ok(Some(content)));
    }
    let own = seal(&mut a.sealing, b"to the other side");
    assert_eq!(open(&mut a.opening, &own), Err(Broken::Tag));
}

#[test]
fn keys_of_another_token_handshake_or_connection_open_nothing() {
    let others = [
        agree([TOKEN, Token([43; 16])], [TRANSCRIPT; 2]),
        agree([TOKEN; 2], [TRANSCRIPT, [b"hello", b"another"]]),
        agree([TOKEN; 2], [TRANSCRIPT, [b"hallo", b"challenge"]]),
    ];
    for [mut a, mut b] in others {
        assert_eq!(open(&mut b.opening, &seal(&mut a.sealing, b"content")), Err(Broken::Tag));
    }
    let ([mut a, _], [_, mut b]) = (agreed(), agreed());
    assert_eq!(open(&mut b.opening, &seal(&mut a.sealing, b"content")), Err(Broken::Tag));
    let low_order = NO_SHARE;
    assert!(
        Ephemeral::generate()
            .unwrap()
            .agree(Side::Initiator, &low_order, &TokenKey::of(&TOKEN, None), TRANSCRIPT)
            .is_none()
    );
}

#[test]
fn every_changed_bit_of_a_record_shows() {
    let record = seal(&mut agreed()[0].sealing, b"0123456789");
    for bit in 0..record.len() * 8 {
        let [mut a, mut b] = agreed();
        let mut record = seal(&mut a.sealing, b"0123456789");
        record[bit / 8] ^= 1 << (bit % 8);
        assert!(!matches!(open(&mut b.opening, &record), Ok(Some(_))), "bit {bit}");
    }
}

#[test]
fn records_that_are_repeated_left_out_or_swapped_do_not_open() {
    for order in [[0, 0], [1, 2], [1, 0]] {
        let [mut a, mut b] = agreed();
        let records = [b"first", b"other", b"third"].map(|content| seal(&mut a.sealing, content));
        let opened = order.map(|at: usize| open(&mut b.opening, &records[at]).is_ok());
        assert!(!opened.iter().all(|fine| *fine), "{order:?}");
    }
}

#[test]
fn a_record_comes_in_parts_and_goes_next_to_the_one_before() {
    let [mut a, mut b] = agreed();
    let mut bytes = seal(&mut a.sealing, b"one ");
    let first_len = bytes.len();
    a.sealing.seal(&mut bytes, |out| out.extend_from_slice(b"two"));
    for len in 0..first_len {
        assert_eq!(b.opening.open(&mut bytes[..len].to_vec(), 0), Ok(None));
    }
    let opened = |record_len, content_len| Ok(Some(Opened { record_len, content_len }));
    assert_eq!(b.opening.open(&mut bytes, 0), opened(first_len, 4));
    assert_eq!(b.opening.open(&mut bytes[4..], first_len - 4), opened(first_len - 1, 3));
    assert_eq!(&bytes[..7], b"one two");
}

#[test]
fn lengths_that_no_record_has_are_refused_before_anything_is_waited_for() {
    for len in [0, MAX_CONTENT as u16 + 1, u16::MAX] {
        let [_, mut b] = agreed();
        assert_eq!(b.opening.open(&mut len.to_le_bytes(), 0), Err(Broken::Length(len)));
    }
}
