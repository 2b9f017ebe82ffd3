//! What is reached over a distance, in simulated time: as much as the links leave.

use fishplate_engine::{Config, VcId};
use fishplate_sim::events::Duration;
use fishplate_sim::transport::{HostId, Outgoing, Scenario};

use crate::network::{ANY_TAG, GIGABIT, MS, hosts, pair, rail, tagged};

const WINDOW: u64 = 64;
const DELAYS_NS: [u64; 3] = [MS / 10, MS, 10 * MS];

struct Run {
    scenario: Scenario,
    rails: Vec<(f64, u64)>,
}

impl Run {
    /// Over rails with these rates in bytes per second and one-way delays in nanoseconds.
    fn new(rails: &[(f64, u64)]) -> Run {
        Run::with(rails, Config::default())
    }

    fn with(rails: &[(f64, u64)], config: Config) -> Run {
        let model = rails.iter().map(|(rate, delay_ns)| rail(*rate, *delay_ns)).collect();
        Run { scenario: pair(model, config), rails: rails.to_vec() }
    }

    fn post_receives(&mut self, host: usize, count: u64, len: u64) {
        (0..count).for_each(|_| self.scenario.receive(HostId(host), ANY_TAG, len));
    }

    fn send(&mut self, from: usize, len: u64) {
        self.scenario.send(HostId(from), tagged(1 - from, 1, len));
    }

    /// Until `count` receives more have ended.
    fn run_until_received(&mut self, count: u64) {
        let end = self.scenario.ended_receives() + count;
        self.scenario.run_until(|scenario| scenario.ended_receives() == end);
    }

    fn now_ns(&self) -> u64 {
        self.scenario.now().0
    }

    /// Bytes that the receiver grants the sender.
    fn grant(&self) -> u64 {
        self.scenario.engine(HostId(1)).grant(VcId(0))
    }

    /// Nanoseconds of `WINDOW` messages and the short one that answers them.
    fn window(&mut self, len: u64) -> u64 {
        let start = self.now_ns();
        self.post_receives(1, WINDOW, len);
        self.post_receives(0, 1, 4);
        (0..WINDOW).for_each(|_| self.send(0, len));
        self.run_until_received(WINDOW);
        self.send(1, 4);
        self.run_until_received(1);
        self.now_ns() - start
    }

    /// Nanoseconds of half a ping-pong.
    fn half_ping_pong(&mut self, len: u64) -> u64 {
        let start = self.now_ns();
        for from in [0, 1] {
            self.post_receives(1 - from, 1, len);
            self.send(from, len);
            self.run_until_received(1);
        }
        (self.now_ns() - start) / 2
    }

    /// Nanoseconds in which `len` bytes get across, at best.
    fn least_ns(&self, len: u64) -> f64 {
        let rate: f64 = self.rails.iter().map(|(rate, _)| rate).sum();
        self.rails[0].1 as f64 + len as f64 / rate * 1e9
    }
}

/// The last of so many times: those before warm up.
fn last(count: u32, mut time_ns: impl FnMut() -> u64) -> f64 {
    (0..count).fold(0, |_, _| time_ns()) as f64
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
                let bound_ns = run.least_ns(WINDOW * len) + delay_ns as f64;
                let share = bound_ns / last(5, || run.window(len));
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
                // What is not worth cutting goes over one rail.
                let cut = len > 16 << 10;
                let bound_ns = if cut { run.least_ns(len) } else { delay_ns as f64 + len as f64 / GIGABIT * 1e9 };
                let ratio = last(11, || run.half_ping_pong(len)) / bound_ns;
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
        last(4, || run.half_ping_pong(len))
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
        last(7, || run.window(len))
    };
    for len in sizes(64, 1 << 20) {
        let ratio = time(&[NEAR, DISTANT], len) / time(&[NEAR], len).min(time(&[DISTANT], len));
        assert!(ratio <= 1.05, "{len} bytes: {ratio:.3} of the time over the better rail");
    }
}

const MIB: u64 = 1 << 20;

/// Of distant peers that send 1 GiB that nobody receives yet.
fn flood(peers: usize, config: Config) -> Scenario {
    let mut scenario = hosts(peers + 1, vec![rail(GIGABIT, 10 * MS); 2], config);
    for _ in 0..1024 / peers {
        (1..=peers).for_each(|from| scenario.send(HostId(from), tagged(0, 1, MIB)));
    }
    scenario.run_out();
    scenario
}

#[test]
fn a_gigabyte_that_nobody_receives_costs_no_more_than_the_grant() {
    let grant = 4 * MIB;
    let mut scenario = flood(1, Config::default());
    let held = scenario.held_bytes(HostId(0), HostId(1));
    assert!(held > grant / 2 && held <= grant, "{held} bytes are held");
    scenario.finish();
    assert_eq!(scenario.ended_receives(), 1024);
    // With many peers, each gets its part of what there is for all.
    let config = Config { memory: 4 * MIB, ..Config::default() };
    let mut scenario = flood(16, config);
    let held: u64 = (1..=16).map(|peer| scenario.held_bytes(HostId(0), HostId(peer))).sum();
    assert!(held <= 5 * MIB, "{held} bytes are held");
    scenario.finish();
}

#[test]
fn a_grant_follows_the_path_while_it_is_used_and_comes_back() {
    let mut run = Run::new(&[(GIGABIT, 10 * MS); 2]);
    assert_eq!(run.grant(), 4 * MIB);
    last(3, || run.window(256 << 10));
    let rate = rail(GIGABIT, 0).link.rate.expect("it has one");
    let path = 2 * rate.bytes_in(20 * MS);
    assert_eq!(run.grant(), 4 * path);
    run.scenario.run_out();
    assert_eq!(run.grant(), 4 * MIB, "nothing was sent for a while");
    last(3, || run.window(256 << 10));
    assert_eq!(run.grant(), 4 * path);
    // Nothing of a near peer's grows.
    let mut run = Run::new(&[(GIGABIT, 30_000)]);
    last(3, || run.window(256 << 10));
    assert_eq!(run.grant(), 4 * MIB);
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
                run.scenario.run_out();
            }
            let start = run.now_ns();
            for received in 1..=count {
                run.post_receives(1, 1, len);
                run.scenario.run_until(|scenario| scenario.ended_receives() >= received);
            }
            let least = 12 * MIB * 1_000_000_000 / (rails as u64 * GIGABIT as u64);
            let took = run.now_ns() - start;
            assert!(took < least + 7 * 20 * MS, "{count} messages of {len} bytes: {took} ns, at least {least}");
            run.scenario.finish();
        }
    }
}

#[test]
fn who_waits_for_each_send_does_not_wait_for_its_acknowledgement() {
    for rails in 1..=2 {
        let mut run = Run::new(&vec![(GIGABIT, 10 * MS); rails]);
        let (count, len) = (40, 64 << 10);
        run.post_receives(1, count, len);
        for sent in 1..=count {
            run.scenario.send(HostId(0), Outgoing { may_be_buffered: true, ..tagged(1, 1, len) });
            while run.scenario.ended_sends() < sent {
                run.scenario.run_for(Duration::us(10));
            }
        }
        let (took, least) = (run.now_ns(), count * len * 1_000_000_000 / (rails as u64 * GIGABIT as u64));
        assert!(took < least + 3 * 20 * MS, "{took} ns, at least {least}");
        run.scenario.finish();
    }
}

#[test]
fn a_fixed_limit_is_kept_at_any_distance() {
    for (limit, handshake) in [(8 << 10, true), (64 << 10, false)] {
        let config = Config { eager_limit: Some(limit), ..Config::default() };
        let mut run = Run::with(&[(GIGABIT, MS)], config);
        let (len, least) = (32 << 10, run.least_ns(32 << 10));
        let round_trips = (run.half_ping_pong(len) as f64 - least) / (2 * MS) as f64;
        assert!((round_trips - f64::from(u8::from(handshake))).abs() < 0.05, "{limit}: {round_trips}");
    }
}
