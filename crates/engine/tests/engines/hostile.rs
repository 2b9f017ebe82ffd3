//! A peer that sends anything, in any order: never a panic, nothing written after a receive has completed, memory
//! bounded, and every operation ends once.

mod attack;
mod victim;

use fishplate_engine::wire::{Body, Header, LandingRef, SendRef};
use fishplate_engine::{Envelope, Instant, MessageSeq, Misbehaviour, Pattern, Placement, Space};

use attack::attack;
use victim::{ANNOUNCED, GRANT, Victim};

const TAGGED: Space = Space::Tagged { tag: 1, ignore: 0 };

fn plain(body: Body) -> Header {
    Header { ack: 0, ack_delay_us: 0, credit: 0, body }
}

fn eager(seq: u32, len: u32, prompt: bool) -> Header {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(1));
    plain(Body::Eager { seq, envelope, data: None, len, prompt })
}

fn request(seq: u32, total: u64) -> Header {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(1));
    plain(Body::Request { seq, envelope, data: None, total, send: SendRef(7) })
}

#[test]
fn any_headers_end_in_an_answer() {
    let mut steps = 0;
    let mut ends = [0; 6];
    for seed in 0..600 {
        let (took, end) = attack(seed);
        steps += took;
        if let Some(end) = end {
            ends[end as usize] += 1;
        }
    }
    // Otherwise the headers are not good enough to get anywhere, or too good.
    assert!(steps > 60_000, "{steps}");
    assert!(ends.iter().all(|count| *count > 5), "{ends:?}");
}

#[test]
fn a_message_that_is_copied_on_arrival_takes_no_stripes() {
    let mut victim = Victim::new(2);
    let pattern = Pattern { space: TAGGED, source: None };
    let (one, two) = (victim.subchannels[0], victim.subchannels[1]);
    assert!(matches!(victim.engine.handle_header(Instant(0), one, &eager(0, 100, true)), Ok(Placement::Bounce(_))));
    // Matched while its payload is on the way: the landing has the first key of its table.
    victim.recv(pattern, 100, None);
    let stripe = plain(Body::Stripe { landing: LandingRef(1 << 32), offset: 0, len: 50 });
    assert_eq!(victim.engine.handle_header(Instant(0), two, &stripe), Err(Misbehaviour::Stripe));
}

#[test]
fn clearances_that_cannot_be_sent_are_bounded() {
    let mut victim = Victim::new(1);
    victim.recv(Pattern { space: TAGGED, source: None }, 100, Some(1));
    victim.engine.writable(victim.subchannels[0], 0);
    let send = |seq| victim.engine.handle_header(Instant(0), victim.subchannels[0], &request(seq, 0));
    let taken = (0..).map(send).take_while(Result::is_ok).count() as u64;
    assert_eq!(taken, GRANT / 128 + ANNOUNCED);
}

#[test]
fn acknowledgements_for_a_peer_that_does_not_read_are_bounded_by_the_budget() {
    let mut victim = Victim::new(1);
    victim.recv(Pattern { space: TAGGED, source: None }, 100, Some(1));
    victim.engine.writable(victim.subchannels[0], 1000);
    let mut sent = 0;
    for seq in 0..10_000 {
        let now = Instant(u64::from(seq) * 20_000);
        victim.engine.handle_header(now, victim.subchannels[0], &eager(seq, 0, true)).unwrap();
        victim.engine.handle_timeout(now);
        sent += std::iter::from_fn(|| victim.engine.poll_transmit(now)).count();
    }
    assert!((1..=20).contains(&sent), "{sent}");
    victim.engine.writable(victim.subchannels[0], 1000);
    let last = victim.engine.poll_transmit(Instant(1_000_000_000)).unwrap();
    assert_eq!(last.header.ack, 10_000);
}
