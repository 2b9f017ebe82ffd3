//! Messages whose memory is lent only while they are posted.

use fishplate_engine::limits::MAX_INJECTED;
use fishplate_engine::{
    Config, Context, Engine, Envelope, Extent, INJECT_SIZE, Pattern, Payload, PostError, RailId, Region, SendRequest,
    Space, VcId,
};

use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::world::{Setup, World};

fn inject(vc: VcId, len: u64) -> SendRequest {
    let payload = Payload::One(Extent { region: Region(0), offset: 0, len });
    let envelope = Envelope::Message;
    SendRequest { vc, envelope, data: None, payload, inject: true, notify: false, context: Context(0) }
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
    assert!(engine.poll_completion().is_none(), "it was told already");
}

#[test]
fn what_is_announced_only_is_still_to_be_sent() {
    let config = Config { eager_limit: Some(0), ..Config::default() };
    let rails = vec![Rail::steady(1e9, 1000)];
    let mut world = World::new(Setup { seed: 1, nodes: 2, rails, config, phantom: true });
    let outgoing = |inject| Outgoing { to: 1, envelope: Envelope::Message, len: 100, inject, notify: false };
    assert!(world.send(0, outgoing(true)));
    world.run_out();
    assert_eq!(world.nodes[0].engine.unacknowledged_peers().into_iter().collect::<Vec<_>>(), [VcId(1)]);
    world.recv(1, Pattern { space: Space::Message, source: None }, 100, None);
    world.run_out();
    assert!(world.nodes[0].engine.is_quiet());
    // Whoever did not inject knows that it has not arrived.
    assert!(world.send(0, outgoing(false)));
    world.run_out();
    assert!(world.nodes[0].engine.is_quiet());
}

#[test]
fn memory_of_copies_comes_back_however_they_went() {
    // With little credit they go by rendezvous; with much, they wait for a subchannel only.
    for grant in [64 << 10, 4 << 20] {
        let rails = vec![Rail::steady(1e9, 1000)];
        let config = Config { grant, ..Config::default() };
        let mut world = World::new(Setup { seed: grant, nodes: 2, rails, config, phantom: true });
        for _ in 0..(MAX_INJECTED / (64 * INJECT_SIZE)) * 3 / 2 {
            for _ in 0..64 {
                let envelope = Envelope::Message;
                assert!(world.send(0, Outgoing { to: 1, envelope, len: INJECT_SIZE, inject: true, notify: false }));
            }
            for _ in 0..64 {
                world.recv(1, Pattern { space: Space::Message, source: None }, INJECT_SIZE, None);
            }
            world.run_out();
        }
        assert!(world.nodes[0].engine.is_quiet());
        assert_eq!(world.nodes[0].memory.bounces(), 0);
    }
}
