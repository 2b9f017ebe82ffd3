//! Connections that are given back at any moment at which nothing seems to be under way: nothing is lost, nothing comes twice.

use fishplate_engine::{Config, Envelope, Instant, Pattern};

use crate::everything::{seeds, setup};
use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::workload::{ANY_TAG, Mix, USUAL};
use crate::support::world::{Setup, World};

const MS: u64 = 1_000_000;
const HOUR: u64 = 3_600_000 * MS;

/// Commands while connections are given back, one of them broken as well in some runs, and come back. How many were given back.
fn run(seed: u64, breaks: bool) -> usize {
    let mut world = World::new(setup(seed));
    let mut evicted = 0;
    for _ in 0..40 {
        world.mess_about(Mix { commands: 2, ..USUAL });
        let pause = world.now + world.rng.below(2 * MS);
        world.run(pause);
        for pipe in world.connections() {
            let from = pipe + usize::from(world.rng.percent(50));
            if !world.rng.percent(50) || !world.evict(from) {
                continue;
            }
            evicted += 1;
            if breaks && world.rng.percent(50) {
                world.cut(pipe);
            }
            let back = world.now + world.rng.below(3 * MS);
            world.rejoin(pipe, back);
        }
    }
    world.finish();
    evicted
}

#[test]
fn connections_are_given_back_at_any_moment() {
    let evicted: usize = seeds(0..48).map(|seed| run(seed, false)).sum();
    assert!(evicted > 48, "only {evicted} connections were idle");
}

#[test]
fn connections_fail_while_they_are_given_back() {
    let evicted: usize = seeds(0..48).map(|seed| run(seed, true)).sum();
    assert!(evicted > 48, "only {evicted} connections were idle");
}

/// A pair over one rail, with a message of so many bytes sent, for which there is a receive or not.
fn sent(len: u64, is_received: bool) -> World {
    let rails = vec![Rail::steady(125e6, 50_000)];
    let mut world = World::new(Setup { seed: 1, nodes: 2, rails, config: Config::default(), phantom: true });
    if is_received {
        receive(&mut world, 1, len);
    }
    send(&mut world, 0, len);
    world
}

fn send(world: &mut World, from: usize, len: u64) {
    let outgoing = Outgoing { to: 1 - from, envelope: Envelope::Tagged(1), len, inject: false, notify: true };
    assert!(world.send(from, outgoing));
}

fn receive(world: &mut World, at: usize, len: u64) {
    world.recv(at, Pattern { space: ANY_TAG, source: None }, len, None);
}

fn is_idle(world: &World) -> [bool; 2] {
    [0, 1].map(|node| !world.nodes[node].engine.idle_peers().is_empty())
}

#[test]
fn a_peer_is_idle_once_nothing_is_under_way_either_way() {
    for len in [8, 8 << 20] {
        let mut world = sent(len, true);
        assert!(!is_idle(&world)[0], "{len} B are under way");
        world.run_out();
        assert_eq!(is_idle(&world), [true; 2], "{len} B have come");
    }
    // The bytes have come, and wait for a receive here.
    let mut world = sent(8, false);
    world.run_out();
    assert_eq!(is_idle(&world), [true; 2]);
    // Announced: most of it is still to come.
    let mut world = sent(64 << 20, false);
    world.run_out();
    assert_eq!(is_idle(&world), [false; 2]);
}

#[test]
fn a_peer_whose_only_connection_was_given_back_is_waited_for_as_long_as_it_takes() {
    let mut world = sent(8, true);
    world.run_out();
    assert!(world.evict(0));
    world.run_out();
    assert_eq!(is_idle(&world), [false; 2], "there is nothing to give back");
    world.now += HOUR;
    for at in [0, 1] {
        let now = Instant(world.now);
        let node = &mut world.nodes[at];
        let vc = node.vcs[1 - at];
        node.engine.handle_timeout(now);
        assert_eq!((node.engine.poll_unreachable_peer(), node.engine.outage(vc)), (None, None));
        assert!(node.engine.is_quiet() && !node.engine.has_backlog(vc));
    }
    receive(&mut world, 0, 8);
    send(&mut world, 1, 8);
    let vc = world.nodes[1].vcs[0];
    assert!(world.nodes[1].engine.has_backlog(vc), "it waits for a connection");
    let now = world.now;
    world.rejoin(0, now);
    world.finish();
}

#[test]
fn what_crosses_the_end_of_a_connection_comes_over_the_next() {
    let mut world = sent(8, true);
    world.run_out();
    receive(&mut world, 0, 8);
    send(&mut world, 1, 8);
    // It is on its way, and this side does not know.
    assert!(world.evict(0));
    world.run_out();
    let vc = world.nodes[1].vcs[0];
    assert!(world.nodes[1].engine.has_backlog(vc), "it was not acknowledged");
    let now = world.now;
    world.rejoin(0, now);
    world.finish();
}

#[test]
fn what_still_retires_then_ends_without_another_time_out() {
    let rails = vec![Rail::steady(125e6, 50_000); 2];
    let mut world = World::new(Setup { seed: 1, nodes: 2, rails, config: Config::default(), phantom: true });
    world.run_out();
    let [stays, retires] = [0, 2].map(|pipe| world.pipes[pipe].from.1);
    let engine = &mut world.nodes[0].engine;
    assert!(engine.retire(retires));
    engine.subchannel_evicted(stays);
    engine.subchannel_down(Instant(world.now), retires, "it was let go");
    assert_eq!(engine.outage(stays.vc), None);
}
