//! Messages whose memory is lent only while they are posted.

use std::collections::BTreeSet;

use fishplate_engine::limits::MAX_INJECTED;
use fishplate_engine::{
    Config, Context, Engine, Envelope, INJECT_SIZE, Instant, MemoryAction, Pattern, PeekAction, PeekRequest, PostError,
    RailId, RecvRequest, SendRequest, SubchannelId, VcId,
};

use crate::support::{carry, place};

fn inject(vc: VcId, len: u64) -> SendRequest {
    let message = SendRequest::new(vc, Envelope::Message, place(0, len), Context(0));
    SendRequest { inject: true, notify: false, ..message }
}

/// Injects without a subchannel until no more are taken; how many were.
fn fill(engine: &mut Engine, vc: VcId) -> u64 {
    let mut taken = 0;
    loop {
        match engine.post_send(inject(vc, INJECT_SIZE)) {
            Ok(key) => assert!(engine.detach(key).is_some()),
            Err(error) => {
                assert_eq!(error, PostError::Again);
                return taken;
            }
        }
        taken += 1;
    }
}

#[test]
fn copies_are_bounded_and_a_lost_peer_gives_its_share_back() {
    let mut engine = Engine::new(Config::default());
    let (lost, other) = (engine.open(), engine.open());
    assert_eq!(engine.post_send(inject(lost, INJECT_SIZE + 1)), Err(PostError::TooLong));
    for vc in [lost, other] {
        assert_eq!(fill(&mut engine, vc), MAX_INJECTED / INJECT_SIZE);
        engine.lose(vc, "the test says so");
        assert!(engine.poll_completion().is_none(), "nobody waits for an injected message");
    }
    assert_eq!(engine.subchannel_up(lost, RailId(0), None, 1), Err(fishplate_engine::Refused));
}

#[test]
fn an_injected_send_completes_once_whenever_it_arrives() {
    let mut engine = Engine::new(Config::default());
    let vc = engine.open();
    let key = engine.post_send(SendRequest { notify: true, ..inject(vc, 9) }).unwrap();
    assert!(engine.detach(key).is_some());
    assert!(engine.poll_completion().is_none());
    engine.complete_injected(key);
    engine.complete_injected(key);
    assert_eq!(
        engine.poll_completion().map(|completion| (completion.context, completion.result)),
        Some((Context(0), Ok(())))
    );
    engine.lose(vc, "the test says so");
    assert!(engine.poll_completion().is_none(), "it was reported already");
}

/// Two engines over a rail that always has room, and the copies that the first one keeps.
struct Pair {
    engines: [Engine; 2],
    rail: SubchannelId,
    now: Instant,
    copies: BTreeSet<u32>,
}

impl Pair {
    fn new(config: &Config) -> Pair {
        let mut engines = [(); 2].map(|()| Engine::new(config.clone()));
        let rails = engines.each_mut().map(|engine| {
            let vc = engine.open();
            engine.subchannel_up(vc, RailId(0), None, config.grant).unwrap()
        });
        Pair { engines, rail: rails[0], now: Instant(0), copies: BTreeSet::new() }
    }

    fn send(&mut self, len: u64, is_injected: bool) {
        let key = self.engines[0].post_send(SendRequest { inject: is_injected, ..inject(self.rail.vc, len) }).unwrap();
        if is_injected && let Some(MemoryAction::Fill { into, .. }) = self.engines[0].detach(key) {
            assert!(self.copies.insert(into.0));
        }
    }

    fn receive(&mut self, len: u64) {
        self.engines[1].post_recv(RecvRequest::new(Pattern::MESSAGE, place(1, len), Context(0)));
    }

    /// Until nothing is under way, which all acknowledgements have come after within these milliseconds.
    fn exchange(&mut self) {
        for _ in 0..10 {
            self.now = self.now.plus_ns(1_000_000);
            let [one, other] = &mut self.engines;
            for engine in [&mut *one, &mut *other] {
                engine.handle_timeout(self.now);
                engine.writable(self.rail, 1 << 20);
            }
            carry(one, other, self.now);
            carry(other, one, self.now);
            while let Some(action) = self.engines[0].poll_memory() {
                if let MemoryAction::Release(id) = action {
                    assert!(self.copies.remove(&id.0));
                }
            }
            while self.engines[1].poll_memory().is_some() {}
        }
    }
}

#[test]
fn an_announced_message_is_unacknowledged_until_it_is_received() {
    let mut pair = Pair::new(&Config { eager_limit: Some(0), ..Config::default() });
    pair.send(100, true);
    pair.exchange();
    assert_eq!(pair.engines[0].unacknowledged_peers().into_iter().collect::<Vec<_>>(), [pair.rail.vc]);
    pair.receive(100);
    pair.exchange();
    assert!(pair.engines[0].is_quiet());
    // Who did not inject knows that it has not arrived.
    pair.send(100, false);
    pair.exchange();
    assert!(pair.engines[0].is_quiet());
}

#[test]
fn an_endpoint_that_closes_lets_no_sender_wait_for_a_message_that_it_has_claimed() {
    let mut pair = Pair::new(&Config { eager_limit: Some(0), ..Config::default() });
    pair.send(100, true);
    pair.exchange();
    let claim = PeekRequest { pattern: Pattern::MESSAGE, then: PeekAction::Claim, context: Context(0) };
    pair.engines[1].peek(claim);
    pair.exchange();
    assert!(!pair.engines[0].is_quiet());
    pair.engines[1].discard_unexpected();
    pair.exchange();
    assert!(pair.engines[0].is_quiet());
}

#[test]
fn memory_of_copies_comes_back_however_they_went() {
    // With little credit they go by rendezvous; with much, they wait for a subchannel only.
    for grant in [64 << 10, 4 << 20] {
        let mut pair = Pair::new(&Config { grant, ..Config::default() });
        for _ in 0..(MAX_INJECTED / (64 * INJECT_SIZE)) * 3 / 2 {
            (0..64).for_each(|_| pair.send(INJECT_SIZE, true));
            (0..64).for_each(|_| pair.receive(INJECT_SIZE));
            pair.exchange();
        }
        assert!(pair.engines[0].is_quiet() && pair.copies.is_empty());
    }
}
