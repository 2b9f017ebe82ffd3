//! What acknowledgements cost.

use fishplate_engine::{Config, Envelope};

use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::workload::ANY_TAG;
use crate::support::world::{Setup, World};

const TURNS: u64 = 400;

fn world(rails: usize) -> World {
    let rails = vec![Rail::steady(125e6, 5_000); rails];
    World::new(Setup { seed: 1, nodes: 2, rails, config: Config::default(), phantom: false })
}

fn message(to: usize, len: u64, inject: bool) -> Outgoing {
    Outgoing { to, envelope: Envelope::Tagged(1), len, inject, notify: !inject }
}

fn receive(world: &mut World, node: usize) {
    world.recv(node, fishplate_engine::Pattern { space: ANY_TAG, source: None }, 4096, None);
}

fn pure_acks(world: &World) -> u64 {
    world.pipes.iter().map(|pipe| pipe.pure_acks).sum()
}

#[test]
fn replies_carry_them() {
    for rails in [1, 2, 3] {
        for len in [0, 1, 1024] {
            let mut world = world(rails);
            for turn in 0..TURNS {
                let (from, to) = if turn % 2 == 0 { (0, 1) } else { (1, 0) };
                receive(&mut world, to);
                world.send(from, message(to, len, false));
                world.run_until(|world| world.oracle.ended_receives == turn + 1);
            }
            world.finish();
            // Padding, by which rails are measured, is acknowledged at once: two pairs each way.
            let of_padding = if rails > 1 { 8 * rails as u64 } else { 0 };
            let most = TURNS / 50 + of_padding;
            assert!(pure_acks(&world) <= most, "{} for {TURNS} messages over {rails} rails", pure_acks(&world));
        }
    }
}

#[test]
fn one_goes_for_many_when_nobody_waits() {
    let mut world = world(2);
    for turn in 0..TURNS {
        receive(&mut world, 1);
        world.send(0, message(1, 8, true));
        world.run_until(|world| world.oracle.ended_receives == turn + 1);
    }
    world.finish();
    assert!(pure_acks(&world) <= TURNS / 50, "{} for {TURNS} messages", pure_acks(&world));
}

#[test]
fn a_lone_send_does_not_wait_long() {
    let mut world = world(2);
    receive(&mut world, 1);
    world.send(0, message(1, 8, false));
    world.run_until(|world| world.oracle.ended_sends == 1);
    // Two ways of 5 us, and the time in which a reply would have carried the acknowledgement.
    assert!(world.now < 30_000, "{} ns", world.now);
}
