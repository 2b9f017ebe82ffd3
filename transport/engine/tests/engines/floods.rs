//! More than the other side has asked for.

use fishplate_engine::{Config, Envelope, Pattern, Space};

use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::world::{Setup, World};

const GRANT: u64 = 64 << 10;
/// Messages that may be announced beyond it.
const ANNOUNCED: u64 = 100;
/// Messages without payload that may wait for a receive.
const MAX_MESSAGES: u64 = GRANT / 128 + ANNOUNCED;

fn world(seed: u64, nodes: usize) -> World {
    let rails = vec![Rail::steady(125e6, 50_000), Rail::steady(31e6, 10_000)];
    let config = Config { grant: GRANT, max_announced: ANNOUNCED, ..Config::default() };
    World::new(Setup { seed, nodes, rails, config, phantom: false })
}

fn tagged(to: usize, tag: u64, len: u64) -> Outgoing {
    Outgoing { to, envelope: Envelope::Tagged(tag), len, inject: false, notify: true }
}

fn messages_sent(world: &World) -> u64 {
    world.pipes.iter().map(|pipe| pipe.messages).sum()
}

#[test]
fn mutual_floods_do_not_deadlock_when_receives_come_late() {
    for seed in 0..6 {
        let mut world = world(seed, 3);
        for _ in 0..300 {
            for from in 0..3 {
                let to = (from + world.rng.range(1, 3) as usize) % 3;
                let len = *world.rng.pick(&[0, 8, 900, 20_000, 65_536, 65_537, 300_000]);
                let tag = world.rng.below(3);
                world.send(from, tagged(to, tag, len));
            }
        }
        world.run_out();
        world.finish();
        world.check_credit();
    }
}

#[test]
fn unexpected_messages_stop_at_the_bound_and_go_on_with_the_receives() {
    let mut world = world(7, 2);
    for tag in 0..5_000 {
        world.send(0, tagged(1, tag, 0));
    }
    world.run_out();
    assert_eq!(messages_sent(&world), MAX_MESSAGES);
    for tag in 0..5_000 {
        let pattern = Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None };
        world.recv(1, pattern, 0, None);
        world.run_until(|world| world.oracle.ended_receives == tag + 1);
    }
    world.finish();
}

#[test]
fn a_starved_sender_hears_of_little_credit() {
    let mut world = world(8, 2);
    for tag in 0..MAX_MESSAGES + 200 {
        world.send(0, tagged(1, tag, 0));
    }
    world.run_out();
    // Less than what is told at once.
    for tag in 0..20 {
        let pattern = Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None };
        world.recv(1, pattern, 0, None);
    }
    world.run_out();
    assert_eq!(messages_sent(&world), MAX_MESSAGES + 20);
    world.finish();
}

#[test]
fn a_message_with_a_receive_passes_those_that_fill_the_grant() {
    for len in [0, 100, 60_000] {
        let mut world = world(10, 2);
        for tag in 0..ANNOUNCED {
            world.send(0, tagged(1, tag, len.max(GRANT / ANNOUNCED)));
        }
        let last = 1_000;
        let pattern = Pattern { space: Space::Tagged { tag: last, ignore: 0 }, source: None };
        world.recv(1, pattern, len, None);
        world.send(0, tagged(1, last, len));
        world.run_out();
        assert_eq!(world.oracle.ended_receives, 1);
        world.finish();
        world.check_credit();
    }
}

#[test]
fn large_messages_without_a_receive_cost_the_receiver_no_more_than_its_grant() {
    let mut world = world(9, 2);
    for tag in 0..40 {
        world.send(0, tagged(1, tag, 1 << 20));
    }
    world.run_out();
    let peer = world.nodes[1].vcs[0];
    assert_eq!(messages_sent(&world), 40);
    assert!(world.nodes[1].memory.held_for(0) <= world.nodes[1].engine.grant(peer));
    world.finish();
}
