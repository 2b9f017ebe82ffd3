//! What is reached over a distance, in simulated time: as much as the links leave.

use fishplate_engine::{Config, Envelope, Pattern};

use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::workload::ANY_TAG;
use crate::support::world::{Setup, World};

const GIGABIT: f64 = 125e6;
const WINDOW: u64 = 64;
const MS: u64 = 1_000_000;
const DELAYS_NS: [u64; 3] = [MS / 10, MS, 10 * MS];

struct Run {
    world: World,
    rails: Vec<(f64, u64)>,
}

impl Run {
    /// Over rails with these rates in bytes per second and one-way delays in nanoseconds.
    fn new(rails: &[(f64, u64)]) -> Run {
        let model = rails.iter().map(|(rate, delay_ns)| Rail::steady(*rate, *delay_ns)).collect();
        let setup = Setup { seed: 1, nodes: 2, rails: model, config: Config::default(), phantom: true };
        Run { world: World::new(setup), rails: rails.to_vec() }
    }

    fn post_receives(&mut self, node: usize, count: u64, len: u64) {
        (0..count).for_each(|_| {
            self.world.recv(node, Pattern { space: ANY_TAG, source: None }, len, None);
        });
    }

    fn send(&mut self, from: usize, len: u64) {
        let outgoing = Outgoing { to: 1 - from, envelope: Envelope::Tagged(1), len, inject: false, notify: true };
        self.world.send(from, outgoing);
    }

    /// Nanoseconds of `WINDOW` messages and the short one that answers them.
    fn window(&mut self, len: u64) -> u64 {
        let (start, before) = (self.world.now, self.world.oracle.ended_receives);
        self.post_receives(1, WINDOW, len);
        self.post_receives(0, 1, 4);
        (0..WINDOW).for_each(|_| self.send(0, len));
        self.world.run_until(|world| world.oracle.ended_receives == before + WINDOW);
        self.send(1, 4);
        self.world.run_until(|world| world.oracle.ended_receives == before + WINDOW + 1);
        self.world.now - start
    }

    /// Nanoseconds of half a ping-pong.
    fn half_ping_pong(&mut self, len: u64) -> u64 {
        let start = self.world.now;
        for from in [0, 1] {
            let before = self.world.oracle.ended_receives;
            self.post_receives(1 - from, 1, len);
            self.send(from, len);
            self.world.run_until(|world| world.oracle.ended_receives == before + 1);
        }
        (self.world.now - start) / 2
    }

    /// Nanoseconds in which `len` bytes get across, at best.
    fn least_ns(&self, len: u64) -> f64 {
        let rate: f64 = self.rails.iter().map(|(rate, _)| rate).sum();
        self.rails[0].1 as f64 + len as f64 / rate * 1e9
    }
}

fn sizes(from: u64, to: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |len| Some(len * 2)).take_while(move |len| *len <= to)
}

#[test]
fn a_window_of_messages_takes_what_the_links_leave() {
    for delay_ns in DELAYS_NS {
        for rails in [1, 2] {
            for len in sizes(4 << 10, 4 << 20) {
                let mut run = Run::new(&vec![(GIGABIT, delay_ns); rails]);
                (0..4).for_each(|_| {
                    run.window(len);
                });
                let bound_ns = run.least_ns(WINDOW * len) + delay_ns as f64;
                let share = bound_ns / run.window(len) as f64;
                let least = if len < 64 << 10 { 0.90 } else { 0.95 };
                assert!(share >= least, "{rails} rails, {delay_ns} ns, {len} bytes: {share:.3} of the bound");
            }
        }
    }
}

#[test]
fn a_single_message_takes_delay_and_transmission_and_no_handshake() {
    for delay_ns in DELAYS_NS {
        for rails in [1, 2] {
            for len in sizes(1, 4 << 20) {
                let mut run = Run::new(&vec![(GIGABIT, delay_ns); rails]);
                (0..3).for_each(|_| {
                    run.half_ping_pong(len);
                });
                // What is not worth cutting goes over one rail.
                let cut = len > 16 << 10;
                let bound_ns = if cut { run.least_ns(len) } else { delay_ns as f64 + len as f64 / GIGABIT * 1e9 };
                let ratio = run.half_ping_pong(len) as f64 / bound_ns;
                assert!(ratio <= 1.05, "{rails} rails, {delay_ns} ns, {len} bytes: {ratio:.3} of the bound");
            }
        }
    }
}

const NEAR: (f64, u64) = (31.25e6, MS);
const DISTANT: (f64, u64) = (125e6, 20 * MS);

#[test]
fn small_messages_take_the_near_rail_and_large_ones_what_is_best() {
    let time = |rails: &[(f64, u64)], len: u64| {
        let mut run = Run::new(rails);
        (0..3).for_each(|_| {
            run.half_ping_pong(len);
        });
        run.half_ping_pong(len) as f64
    };
    for len in [1, 64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
        let ratio = time(&[NEAR, DISTANT], len) / time(&[NEAR], len).min(time(&[DISTANT], len));
        assert!(ratio <= 1.05, "{len} bytes take {ratio:.3} of what the better rail alone takes");
    }
    for len in sizes(4 << 20, 32 << 20) {
        // Both end at the same time, if the message is long enough.
        let both =
            (len as f64 + NEAR.0 * NEAR.1 as f64 / 1e9 + DISTANT.0 * DISTANT.1 as f64 / 1e9) / (NEAR.0 + DISTANT.0);
        let best = (both * 1e9).min(time(&[DISTANT], len));
        let share = best / time(&[NEAR, DISTANT], len);
        assert!(share >= 0.95, "{len} bytes: {share:.3} of the best");
    }
}

#[test]
fn a_window_over_unequal_rails_is_not_slower_than_over_the_better_one() {
    let time = |rails: &[(f64, u64)], len: u64| {
        let mut run = Run::new(rails);
        (0..6).for_each(|_| {
            run.window(len);
        });
        run.window(len) as f64
    };
    for len in sizes(64, 1 << 20) {
        let ratio = time(&[NEAR, DISTANT], len) / time(&[NEAR], len).min(time(&[DISTANT], len));
        assert!(ratio <= 1.05, "{len} bytes: {ratio:.3} of the time over the better rail");
    }
}

const MIB: u64 = 1 << 20;

/// Of distant peers that send 1 GiB that nobody receives yet.
fn flood(peers: usize, config: Config) -> World {
    let rails = vec![Rail::steady(GIGABIT, 10 * MS); 2];
    let mut world = World::new(Setup { seed: 1, nodes: peers + 1, rails, config, phantom: true });
    for _ in 0..1024 / peers as u64 {
        for from in 1..=peers {
            let outgoing = Outgoing { to: 0, envelope: Envelope::Tagged(1), len: MIB, inject: false, notify: true };
            world.send(from, outgoing);
        }
    }
    world.run_out();
    world
}

#[test]
fn a_gigabyte_that_nobody_receives_costs_no_more_than_the_grant() {
    let grant = 4 * MIB;
    let mut world = flood(1, Config::default());
    let held = world.nodes[0].memory.held_for(1);
    assert!(held > grant / 2 && held <= grant, "{held} bytes are held");
    world.finish();
    assert_eq!(world.oracle.ended_receives, 1024);
    // With many peers, each gets its part of what there is for all.
    let config = Config { memory: 4 * MIB, ..Config::default() };
    let mut world = flood(16, config);
    let held: u64 = (1..=16).map(|peer| world.nodes[0].memory.held_for(peer)).sum();
    assert!(held <= 5 * MIB, "{held} bytes are held");
    world.finish();
}

#[test]
fn a_grant_follows_the_path_while_it_is_used_and_comes_back() {
    let mut run = Run::new(&[(GIGABIT, 10 * MS); 2]);
    let grant = |run: &Run| run.world.nodes[1].engine.grant(run.world.nodes[1].vcs[0]);
    assert_eq!(grant(&run), 4 * MIB);
    (0..3).for_each(|_| {
        run.window(256 << 10);
    });
    let path = 2 * (GIGABIT as u64) / 50;
    assert_eq!(grant(&run), 4 * path);
    run.world.run_out();
    assert_eq!(grant(&run), 4 * MIB, "nothing was sent for a while");
    (0..3).for_each(|_| {
        run.window(256 << 10);
    });
    assert_eq!(grant(&run), 4 * path);
    // Nothing of a near peer's grows.
    let mut run = Run::new(&[(GIGABIT, 30_000)]);
    (0..3).for_each(|_| {
        run.window(256 << 10);
    });
    assert_eq!(run.world.nodes[1].engine.grant(run.world.nodes[1].vcs[0]), 4 * MIB);
}

#[test]
fn who_receives_one_by_one_does_not_wait_a_round_trip_for_each() {
    // Three times what is granted: most of it is announced before it is received, whether that begins late or at once.
    for (len, rails) in [(1 << 10, 1), (16 << 10, 2), (64 << 10, 1), (512 << 10, 2), (3 * MIB, 1)] {
        for late in [true, false] {
            let count = 12 * MIB / len;
            let mut run = Run::new(&vec![(GIGABIT, 10 * MS); rails]);
            (0..count).for_each(|_| run.send(0, len));
            if late {
                run.world.run_out();
            }
            let start = run.world.now;
            for received in 1..=count {
                run.post_receives(1, 1, len);
                run.world.run_until(|world| world.oracle.ended_receives == received);
            }
            let least = 12 * MIB * 1_000_000_000 / (rails as u64 * GIGABIT as u64);
            let took = run.world.now - start;
            assert!(took < least + 7 * 20 * MS, "{count} messages of {len} bytes: {took} ns, at least {least}");
            run.world.finish();
        }
    }
}

#[test]
fn who_waits_for_each_send_does_not_wait_for_its_acknowledgement() {
    for rails in 1..=2 {
        let model = vec![Rail::steady(GIGABIT, 10 * MS); rails];
        let setup = Setup { seed: 1, nodes: 2, rails: model, config: Config::default(), phantom: false };
        let mut run = Run { world: World::new(setup), rails: Vec::new() };
        let (count, len) = (40, 64 << 10);
        run.post_receives(1, count, len);
        for sent in 1..=count {
            run.send(0, len);
            while run.world.oracle.ended_sends < sent {
                run.world.buffer_sends(0);
                let soon = run.world.now + MS / 100;
                run.world.run(soon);
            }
        }
        let (took, least) = (run.world.now, count * len * 1_000_000_000 / (rails as u64 * GIGABIT as u64));
        assert!(took < least + 3 * 20 * MS, "{took} ns, at least {least}");
        run.world.finish();
    }
}

#[test]
fn a_fixed_limit_is_kept_at_any_distance() {
    for (limit, handshake) in [(8 << 10, true), (64 << 10, false)] {
        let config = Config { eager_limit: Some(limit), ..Config::default() };
        let rails = vec![Rail::steady(GIGABIT, MS)];
        let world = World::new(Setup { seed: 1, nodes: 2, rails, config, phantom: true });
        let mut run = Run { world, rails: vec![(GIGABIT, MS)] };
        let (len, least) = (32 << 10, run.least_ns(32 << 10));
        let round_trips = (run.half_ping_pong(len) as f64 - least) / (2 * MS) as f64;
        assert!((round_trips - f64::from(u8::from(handshake))).abs() < 0.05, "{limit}: {round_trips}");
    }
}
