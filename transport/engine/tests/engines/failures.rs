//! Rails that fail, retire, stand by or are given back: who is asked, and what goes over which rail then. That nothing is
//! lost whenever they fail is tested in simulation (`lab/sim`).

use fishplate_engine::policy::Multiplexing;
use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{
    Completion, Config, Context, Engine, Envelope, Failure, Instant, MessageSeq, Pattern, Payload, RailId, RecvRequest,
    SendRequest, SubchannelId, VcId,
};

use crate::support::{carry, place};

const MS: u64 = 1_000_000;

/// An engine with a peer over two rails.
fn over_two_rails(config: Config) -> (Engine, [SubchannelId; 2]) {
    let mut engine = Engine::new(config);
    let vc = engine.open();
    let subchannels = [0, 1].map(|rail| engine.subchannel_up(vc, RailId(rail), None, 1 << 20).unwrap());
    subchannels.into_iter().for_each(|subchannel| engine.writable(subchannel, 1 << 20));
    (engine, subchannels)
}

/// The frames that are to be sent, and over which subchannel.
fn sent(engine: &mut Engine, now: Instant) -> Vec<(SubchannelId, Body)> {
    std::iter::from_fn(|| engine.poll_transmit(now))
        .map(|transmit| (transmit.subchannel, transmit.header.body))
        .collect()
}

/// Whether the peer is asked about the rail that its acknowledgement is to come over, in 2 s.
fn is_suspect(bytes_come: bool) -> bool {
    let (mut engine, _) = over_two_rails(Config::default());
    send(&mut engine);
    let used = engine.poll_transmit(Instant(0)).unwrap().subchannel;
    (0..200).any(|at| {
        let now = Instant(at * 10 * MS);
        if bytes_come {
            engine.made_progress(now, used);
        }
        engine.handle_timeout(now);
        std::iter::from_fn(|| engine.poll_transmit(now)).any(|transmit| transmit.header.body == Body::Ping)
    })
}

/// After how many milliseconds the peer is asked over the second of two subchannels about the first, which is silent from the
/// start, while the other makes progress.
fn suspected_after_ms(rails: [u8; 2]) -> u64 {
    let mut engine = Engine::new(Config::default());
    let vc = engine.open();
    let [one, two] = rails.map(|rail| engine.subchannel_up(vc, RailId(rail), None, 1 << 20).unwrap());
    engine.writable(one, 1 << 20);
    send(&mut engine);
    assert_eq!(engine.poll_transmit(Instant(0)).unwrap().subchannel, one);
    engine.writable(two, 1 << 20);
    let asked = |at: &u64| {
        let now = Instant(at * MS);
        engine.made_progress(now, two);
        engine.handle_timeout(now);
        sent(&mut engine, now).contains(&(two, Body::Ping))
    };
    (0..2000).step_by(10).find(asked).expect("nobody asks")
}

#[test]
fn one_stream_of_a_rail_may_lose_packets_while_others_carry() {
    assert_eq!(suspected_after_ms([0, 1]), 150);
    assert_eq!(suspected_after_ms([0, 0]), 700);
}

#[test]
fn an_acknowledgement_may_wait_behind_a_long_payload() {
    assert!(is_suspect(false));
    assert!(!is_suspect(true));
}

#[test]
fn credit_sent_over_a_rail_that_ends_is_sent_again() {
    let (mut engine, [one, two]) = over_two_rails(Config { grant: 1000, max_grant: 1000, ..Config::default() });
    for seq in 0..2 {
        engine.post_recv(RecvRequest::new(Pattern::MESSAGE, Payload::EMPTY, Context(u64::from(seq))));
        let body = Body::Eager { seq: MessageSeq(seq), envelope: Envelope::Message, data: None, len: 0, prompt: false };
        let header = Header::without_acknowledgement(body);
        engine.handle_header(Instant(0), one, &header).unwrap();
    }
    let told = |engine: &mut Engine| {
        let sent = std::iter::from_fn(|| engine.poll_transmit(Instant(0)));
        sent.map(|transmit| (transmit.subchannel, transmit.header.body, transmit.header.credit)).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut engine), [(one, Body::Ack, 256)]);
    engine.subchannel_down(Instant(0), one, "rail eth0: unplugged");
    assert_eq!(told(&mut engine), [(two, Body::Ack, 256)]);
}

#[test]
fn a_peer_that_is_away_is_not_taken_for_a_failed_rail() {
    let (mut engine, _) = over_two_rails(Config::default());
    send(&mut engine);
    for at in 0..1000 {
        let now = Instant(at * 10 * MS);
        engine.handle_timeout(now);
        while engine.poll_transmit(now).is_some() {}
        assert_eq!(engine.poll_failed_subchannel(), None);
    }
}

#[test]
fn a_peer_that_looks_in_for_a_moment_answers_over_all_rails_before_it_leaves() {
    let [(mut engine, [one, _]), (mut peer, _)] = [(); 2].map(|()| over_two_rails(Config::default()));
    // What is sent over the first rail waits for a peer that computes.
    send(&mut engine);
    let message = engine.poll_transmit(Instant(0)).unwrap();
    assert_eq!((message.subchannel, engine.poll_transmit(Instant(0)).is_none()), (one, true));
    engine.handle_timeout(Instant(200 * MS));
    // The peer looks, replies over the second rail, and computes again.
    let now = Instant(201 * MS);
    peer.handle_header(now, one, &message.header).unwrap();
    peer.payload_placed(now, one);
    carry(&mut engine, &mut peer, now);
    send(&mut peer);
    carry(&mut peer, &mut engine, now);
    for at in 0..100 {
        engine.handle_timeout(Instant((202 + at * 10) * MS));
        assert_eq!(engine.poll_failed_subchannel(), None, "{at} times 10 ms later");
    }
}

fn send(engine: &mut Engine) {
    engine.post_send(SendRequest::new(VcId(0), Envelope::Message, place(0, 8), Context(1))).unwrap();
}

#[test]
fn without_any_rail_operations_wait_and_then_fail_with_the_causes() {
    let config = Config { rail_timeout_ns: 5_000 * MS, ..Config::default() };
    let mut engine = Engine::new(config);
    let vc = engine.open();
    let one = engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
    engine.writable(one, 1 << 20);
    send(&mut engine);
    assert!(engine.poll_transmit(Instant(0)).is_some());
    engine.subchannel_down(Instant(0), one, "rail eth0: unplugged");
    // It comes back in time, with the message.
    let one = engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap();
    engine.writable(one, 1 << 20);
    assert_eq!(engine.poll_transmit(Instant(MS)).unwrap().source.len(), 8);
    engine.subchannel_down(Instant(MS), one, "rail eth0: unplugged again");
    engine.handle_timeout(Instant(5_000 * MS));
    assert_eq!((engine.poll_completion(), engine.poll_unreachable_peer()), (None, None));
    engine.handle_timeout(Instant(5_002 * MS));
    assert_eq!(engine.poll_unreachable_peer(), Some(vc));
    let outage = engine.outage(vc).unwrap();
    assert_eq!(outage, (Instant(MS), "rail eth0: unplugged; rail eth0: unplugged again".into()));
    engine.lose(vc, &outage.1);
    let Some(Completion { result: Err(Failure::PeerLost(why)), .. }) = engine.poll_completion() else {
        panic!("the send has not failed")
    };
    assert_eq!(*why, *outage.1);
}

#[test]
fn a_subchannel_that_retires_gets_nothing_new_and_drains_unless_it_carries_alone() {
    let (mut engine, [one, two]) = over_two_rails(Config::default());
    send(&mut engine);
    let used = engine.poll_transmit(Instant(0)).unwrap().subchannel;
    let other = if used == one { two } else { one };
    assert!(engine.retire(used) && !engine.retire(used) && !engine.retire(other));
    assert!(!engine.is_drained(used) && engine.is_drained(other));
    // What comes over it is still acknowledged over it, and nothing else is sent there.
    let ping = Header { ack: 1, ..Header::without_acknowledgement(Body::Ping) };
    engine.handle_header(Instant(0), used, &ping).unwrap();
    assert!(!engine.is_drained(used));
    (0..20).for_each(|_| send(&mut engine));
    let later = Instant(100 * MS);
    let sent: Vec<_> = std::iter::from_fn(|| engine.poll_transmit(later)).collect();
    let (over_used, over_other): (Vec<_>, Vec<_>) = sent.iter().partition(|transmit| transmit.subchannel == used);
    assert_eq!(
        over_used.iter().map(|transmit| (transmit.header.body, transmit.header.ack)).collect::<Vec<_>>(),
        [(Body::Ack, 1)]
    );
    assert_eq!(over_other.len(), 20);
    assert!(engine.is_drained(used));
}

#[test]
fn a_subchannel_that_stands_by_carries_nothing_until_it_is_called_or_all_others_are_gone() {
    let config = Config { multiplexing: Multiplexing::RoundRobin, ..Config::default() };
    let (mut engine, [one, two]) = over_two_rails(config);
    engine.set_standby(one, true);
    engine.set_standby(two, true);
    let used = |engine: &mut Engine| {
        [one, two].into_iter().for_each(|subchannel| engine.writable(subchannel, 1 << 20));
        (0..4).for_each(|_| send(engine));
        let over = sent(engine, Instant(0)).into_iter().map(|(subchannel, _)| subchannel);
        let over: Vec<_> = over.collect();
        (over.contains(&one), over.contains(&two))
    };
    assert_eq!(used(&mut engine), (false, true), "the only one does not stand by");
    engine.set_standby(one, false);
    assert_eq!(used(&mut engine), (true, true));
    engine.set_standby(one, true);
    engine.subchannel_down(Instant(0), two, "rail verbs:mlx5_0: unplugged");
    assert_eq!(used(&mut engine), (true, false));
}

#[test]
fn subchannels_are_filled_behind_messages_though_they_stand_by() {
    let (mut engine, [one, two]) = over_two_rails(Config::default());
    let padding = |engine: &mut Engine| {
        let bodies = std::iter::from_fn(|| engine.poll_transmit(Instant(0)));
        let sent: Vec<_> = bodies.map(|frame| (frame.subchannel, frame.header.body)).collect();
        let is_message = |body: &Body| !matches!(body, Body::Padding { .. });
        assert!(sent.iter().all(|(over, body)| !(is_message(body) && *over == one)), "it stands by");
        let over = |subchannel| sent.iter().filter(|(over, body)| *over == subchannel && !is_message(body)).count();
        (over(one), over(two))
    };
    engine.set_standby(one, true);
    [one, two].into_iter().for_each(|subchannel| engine.writable(subchannel, 10 << 20));
    engine.fill_up_to(one, 20);
    send(&mut engine);
    assert_eq!(padding(&mut engine), (2, 0));
    assert_eq!(padding(&mut engine), (0, 0), "more once these are acknowledged");
    engine.fill_up_to(two, 20);
    assert_eq!(padding(&mut engine), (0, 2));
    engine.fill_up_to(two, 0);
    assert_eq!(padding(&mut engine), (0, 0));
}

#[test]
fn frames_of_a_subchannel_that_retires_go_over_another() {
    let config = Config { multiplexing: Multiplexing::RoundRobin, ..Config::default() };
    let (mut engine, [one, two]) = over_two_rails(config);
    [one, two].into_iter().for_each(|subchannel| engine.writable(subchannel, 0));
    (0..6).for_each(|_| send(&mut engine));
    // The policy gives three to each, which wait there.
    assert_eq!(sent(&mut engine, Instant(0)), []);
    assert!(engine.retire(one));
    [one, two].into_iter().for_each(|subchannel| engine.writable(subchannel, 1 << 20));
    let over: Vec<_> = sent(&mut engine, Instant(0)).into_iter().map(|(subchannel, _)| subchannel).collect();
    assert_eq!(over, [two; 6]);
}

#[test]
fn one_that_falls_silent_while_another_is_found_to_have_failed_is_asked_as_well() {
    let mut engine = Engine::new(Config { multiplexing: Multiplexing::RoundRobin, ..Config::default() });
    let vc = engine.open();
    let all = [0, 1, 2].map(|rail| engine.subchannel_up(vc, RailId(rail), None, 1 << 20).unwrap());
    all.into_iter().for_each(|subchannel| engine.writable(subchannel, 1 << 20));
    let [silent, failed, other] = all;
    let answer = |engine: &mut Engine, at_ms: u64, over, ack| {
        let header = Header { ack, ..Header::without_acknowledgement(Body::Ack) };
        engine.handle_header(Instant(at_ms * MS), over, &header).unwrap();
    };
    (0..3).for_each(|_| send(&mut engine));
    assert_eq!(sent(&mut engine, Instant(0)).len(), 3);
    [silent, other].into_iter().for_each(|over| answer(&mut engine, 1, over, 1));
    engine.handle_timeout(Instant(160 * MS));
    assert_eq!(sent(&mut engine, Instant(160 * MS)).len(), 3, "questions over all");
    [silent, other].into_iter().for_each(|over| answer(&mut engine, 161, over, 2));
    send(&mut engine);
    assert_eq!(sent(&mut engine, Instant(162 * MS))[0].0, silent);
    engine.handle_timeout(Instant(500 * MS));
    assert_eq!(engine.poll_failed_subchannel(), Some(failed));
    let asked = sent(&mut engine, Instant(500 * MS));
    assert!(asked.contains(&(silent, Body::Ping)), "{asked:?}");
}

#[test]
fn one_that_comes_up_while_another_is_silent_is_asked_although_nothing_is_left_to_send() {
    let (mut engine, [one, two]) = over_two_rails(Config::default());
    send(&mut engine);
    let silent = sent(&mut engine, Instant(0))[0].0;
    engine.handle_timeout(Instant(160 * MS));
    assert_eq!(sent(&mut engine, Instant(160 * MS)).len(), 2, "questions over both");
    engine.subchannel_down(Instant(161 * MS), if silent == one { two } else { one }, "rail eth1: unplugged");
    assert_eq!(sent(&mut engine, Instant(161 * MS)), []);
    let newcomer = engine.subchannel_up(silent.vc, RailId(2), None, 1 << 20).unwrap();
    engine.writable(newcomer, 1 << 20);
    assert_eq!(sent(&mut engine, Instant(3000 * MS)), [(newcomer, Body::Ping)]);
    let answer = Header { ack: 1, ..Header::without_acknowledgement(Body::Ack) };
    engine.handle_header(Instant(3000 * MS), newcomer, &answer).unwrap();
    engine.handle_timeout(Instant(3050 * MS));
    assert_eq!(engine.poll_failed_subchannel(), Some(silent));
}

#[test]
fn a_subchannel_that_falls_silent_after_it_has_retired_is_found_out() {
    let (mut engine, _) = over_two_rails(Config::default());
    send(&mut engine);
    let [(used, message)] = sent(&mut engine, Instant(0))[..] else { panic!("one message") };
    assert!(engine.retire(used));
    let mut asked = None;
    for at in 0..100 {
        let now = Instant(at * 10 * MS);
        engine.handle_timeout(now);
        for (over, body) in sent(&mut engine, now) {
            assert_eq!(body, Body::Ping);
            asked = Some(over);
            let answer = Header { ack: 1, ..Header::without_acknowledgement(Body::Ack) };
            engine.handle_header(now, over, &answer).unwrap();
        }
        if engine.poll_failed_subchannel() == Some(used) {
            assert!(at < 30, "only after {at} times 10 ms");
            engine.subchannel_down(now, used, "rail eth0: silent");
            assert_eq!(sent(&mut engine, now), [(asked.expect("nobody was asked"), message)]);
            return;
        }
    }
    panic!("it is not found out");
}

#[test]
fn the_end_of_a_subchannel_that_was_let_go_gives_a_peer_without_others_no_more_time() {
    let config = Config { rail_timeout_ns: 5_000 * MS, ..Config::default() };
    let (mut engine, [one, two]) = over_two_rails(config);
    assert!(engine.retire(one));
    engine.subchannel_down(Instant(0), two, "rail eth1: unplugged");
    engine.subchannel_down(Instant(4_000 * MS), one, "it was let go");
    engine.handle_timeout(Instant(5_000 * MS));
    assert_eq!(engine.poll_unreachable_peer(), Some(one.vc));
}

#[test]
fn a_subchannel_that_still_retires_when_the_others_are_given_back_ends_without_another_time_out() {
    let (mut engine, [stays, retires]) = over_two_rails(Config::default());
    assert!(engine.retire(retires));
    engine.subchannel_evicted(stays);
    engine.subchannel_down(Instant(0), retires, "it was let go");
    assert_eq!(engine.outage(stays.vc), None);
}
