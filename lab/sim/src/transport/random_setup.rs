//! Random setups: a configuration of its own for each seed (swarm testing), so that what is rare in one is frequent in
//! another.

use fishplate_engine::Config;
use fishplate_engine::limits::MAX_ANNOUNCED;
use fishplate_engine::policy::{Multiplexing, Striping};
use fishplate_link::{Loss, Rate, Settings};

use super::data::Contents;
use super::faults::{Fault, Path};
use super::flow::Socket;

use super::ids::HostId;
use super::mix::Mix;
use super::setup::{Rail, Setup};
use super::shape::Shape;
use super::shared_memory::SharedMemory;
use super::stream_changes::StreamChanges;
use crate::events::{Duration, Random, Time};

/// Policies that can be drawn.
const MULTIPLEXING: [Multiplexing; 4] =
    [Multiplexing::Binding, Multiplexing::RoundRobin, Multiplexing::WindowRoundRobin(3), Multiplexing::Earliest];
const STRIPING: [Striping; 4] =
    [Striping::Binding, Striping::Even, Striping::Adaptive { alpha: 0.25 }, Striping::Earliest];

/// Percentage of seeds with hosts that share memory.
const WITH_SHARED_MEMORY: u64 = 40;

/// The setup of a seed.
pub fn draw(seed: u64) -> Setup {
    let mut random = Random::stream(seed, "swarm");
    let shape = Shape { hosts: random.pick(&[2, 2, 2, 3, 4, 6]), rails: random.pick(&[1, 2, 2, 2, 3, 4]) };
    let most_faults = random.pick(&[0, 1, 2, 5]);
    let mix = Mix::draw(&mut random);
    let until = Time(mix.pause.0 / 2 * mix.commands / 2);
    let config = config(&mut random, shape.rails);
    let stream_changes = StreamChanges::some(&mut Random::stream(seed, "growth"), shape, until);
    let setup = Setup {
        seed,
        hosts: shape.hosts,
        rails: (0..shape.rails).map(|_| rail(&mut random)).collect(),
        streams: random.pick(&[1, 1, 1, 2]),
        config,
        socket: socket(&mut random, mix.longest),
        shared_memory: None,
        contents: random.pick(&[Contents::Bytes, Contents::Origins, Contents::Origins]),
        mix,
        faults: Fault::some(&mut random, shape, most_faults, until),
        changes: stream_changes.changes,
        hostile: random.percent(15).then(|| HostId(random.index(shape.hosts))),
        mutation: None,
    };
    let setup = with_faults(setup, stream_changes.faults);
    let setup = with_faults(setup, Fault::silences_and_ends(&mut Random::stream(seed, "silences"), shape, until));
    let setup = with_faults(setup, Fault::evictions(&mut Random::stream(seed, "evictions"), shape, until));
    let mut random = Random::stream(seed, "machines");
    if random.percent(WITH_SHARED_MEMORY) { with_shared_memory(setup, &mut random, until) } else { setup }
}

/// Hosts share memory, with which something goes wrong.
fn with_shared_memory(mut setup: Setup, random: &mut Random, until: Time) -> Setup {
    let shape = Shape { hosts: setup.hosts, rails: setup.rails.len() };
    let (shared_memory, faults) = SharedMemory::some(random, shape, until);
    setup.shared_memory = Some(shared_memory);
    with_faults(setup, faults)
}

fn with_faults(mut setup: Setup, more: Vec<(Time, Fault)>) -> Setup {
    setup.faults.extend(more);
    setup.faults.sort_by_key(|(at, _)| *at);
    setup
}

/// The setup of a seed for one thing only: two hosts, two rails at least, and one rail that is cut at a random moment
/// while both hosts send.
pub fn draw_cut(seed: u64) -> Setup {
    let mut setup = draw(seed);
    let mut random = Random::stream(seed, "cut");
    setup.hosts = 2;
    while setup.rails.len() < 2 {
        setup.rails.push(rail(&mut random));
    }
    // Weights are one a rail.
    setup.config.multiplexing = MULTIPLEXING[random.index(MULTIPLEXING.len())].clone();
    setup.config.striping = STRIPING[random.index(STRIPING.len())].clone();
    setup.hostile = None;
    setup.mix.commands = setup.mix.commands.min(100);
    let path = Path { a: HostId(0), b: HostId(1), rail: random.index(setup.rails.len()) };
    let until = setup.mix.pause.0 / 4 * setup.mix.commands;
    setup.faults = vec![(Time(random.below(until)), Fault::Cut(path))];
    let shape = Shape { hosts: 2, rails: setup.rails.len() };
    setup.changes = StreamChanges::some(&mut random, shape, Time(until)).changes;
    setup
}

/// The setup of a seed for one thing only: hosts that share memory, with a short load, much of it on memory that ends.
pub fn draw_shared(seed: u64) -> Setup {
    let mut setup = draw(seed);
    let mut random = Random::stream(seed, "shared");
    setup.mix.commands = setup.mix.commands.min(100);
    setup.mix.longest = setup.mix.longest.min(200_000);
    (setup.mix.accesses, setup.mix.ends) = (setup.mix.accesses + 12, setup.mix.ends + 12);
    if setup.shared_memory.is_some() {
        return setup;
    }
    let until = Time(setup.mix.pause.0 / 4 * setup.mix.commands);
    with_shared_memory(setup, &mut random, until)
}

fn config(random: &mut Random, rails: usize) -> Config {
    // None: by the rates of the rails.
    let weights = |random: &mut Random| {
        let count = random.pick(&[0, rails]);
        (0..count).map(|_| random.range(1, 6) as u32).collect::<Vec<_>>()
    };
    let multiplexing = match random.below(5) {
        0 => Multiplexing::WeightedRoundRobin(weights(random)),
        other => MULTIPLEXING[other as usize - 1].clone(),
    };
    let striping = match random.below(5) {
        0 => Striping::Weighted(weights(random)),
        other => STRIPING[other as usize - 1].clone(),
    };
    let grant = random.pick(&[65_536, 100_000, 1 << 20, 4 << 20]);
    Config {
        multiplexing,
        striping,
        eager_limit: random.pick(&[None, None, Some(0), Some(100), Some(4096), Some(65_536), Some(1 << 20)]),
        grant,
        max_grant: random.pick(&[grant, 16 << 20]),
        memory: random.pick(&[0, 1 << 20, 512 << 20]),
        max_announced: random.pick(&[0, 50, MAX_ANNOUNCED]),
        ..Config::default()
    }
}

fn rail(random: &mut Random) -> Rail {
    let delay = random.pick(&[Duration::ZERO, Duration::us(1), Duration::us(20), Duration::us(50), Duration::ms(3)]);
    let loss = if random.percent(20) { Loss::Independent(0.01) } else { Loss::NONE };
    let link = Settings {
        rate: Some(Rate::mbit(random.pick(&[40, 250, 1000, 10_000, 100_000]))),
        delay_ns: delay.0,
        jitter_ns: random.pick(&[0, 0, 10_000, 1_000_000]),
        loss,
        ..Settings::default()
    };
    Rail { link, rate_known: random.percent(50) }
}

fn socket(random: &mut Random, longest: u64) -> Socket {
    // Long messages in short segments only repeat.
    let least = (longest / 200).min(9000);
    Socket {
        unsent_bytes: random.pick(&[1, 16 << 10, 128 << 10, 1 << 20]),
        window_bytes: random.pick(&[4 << 10, 64 << 10, 4 << 20]),
        segment_bytes: random.pick(&[100, 1448, 9000, 64 << 10, 64 << 10]).max(least),
        budget_bytes: random.pick(&[1, 5_000, Socket::BUDGET_BYTES, Socket::BUDGET_BYTES]),
    }
}
