//! The setup of a seed: numbers of nodes and rails, their behaviour, and the operations.

use fastrand::Rng;
use fishplate_engine::Config;

use super::command::Command;
use crate::simulated::{Mood, happens};

const MULTIPLEXING: [&str; 4] = ["binding", "round-robin", "window-round-robin:3", "earliest"];
const STRIPING: [&str; 5] = ["binding", "even", "weighted", "adaptive", "earliest"];
/// Time in which all commands are given, in nanoseconds.
const SPAN_NS: u64 = 3_000_000;

/// A run.
pub struct Setup {
    pub seed: u64,
    pub nodes: usize,
    pub rails: usize,
    pub config: Config,
    pub mood: Mood,
    /// When, and what.
    pub commands: Vec<(u64, Command)>,
}

impl Setup {
    /// The run of a seed; with checksums of records, bits of which are changed, or without both.
    pub fn of(seed: u64, has_checksums: bool) -> Setup {
        let mut rng = Rng::with_seed(seed);
        let (nodes, rails) = (if happens(&mut rng, 200) { 3 } else { 2 }, rng.u64(1..4) as usize);
        let config = Config {
            multiplexing: rng.choice(MULTIPLEXING).unwrap().parse().unwrap(),
            striping: rng.choice(STRIPING).unwrap().parse().unwrap(),
            eager_limit: rng.choice([None, None, Some(0), Some(4096), Some(1 << 20)]).unwrap(),
            grant: rng.choice([65_536, 4 << 20]).unwrap(),
            ..Config::default()
        };
        let mood = mood(&mut rng);
        let commands = commands(&mut rng, nodes, rails);
        let changed = if has_checksums { rng.choice([5, 50]).unwrap() } else { 0 };
        let (mood, config) = (Mood { changed, ..mood }, Config { copies_responses: has_checksums, ..config });
        Setup { seed, nodes, rails, config, mood, commands }
    }
}

fn mood(rng: &mut Rng) -> Mood {
    let least = rng.choice([500, 5000, 100_000]).unwrap();
    Mood {
        delay_ns: (least, least * rng.choice([1, 3, 20]).unwrap()),
        late_ns: rng.choice([0, 1000, 50_000, 1_000_000]).unwrap(),
        busy: rng.choice([0, 0, 50, 300]).unwrap(),
        failure: rng.choice([0, 0, 5, 50]).unwrap(),
        stuck: rng.choice([0, 0, 0, 20]).unwrap(),
        unregistered: rng.choice([0, 0, 0, 50, 1000]).unwrap(),
        invented: rng.choice([0, 0, 0, 20]).unwrap(),
        changed: 0,
        is_manual: happens(rng, 300),
        inject_len: rng.choice([0, 64, 256, 4096]).unwrap(),
    }
}

fn commands(rng: &mut Rng, nodes: usize, rails: usize) -> Vec<(u64, Command)> {
    let mut commands = Vec::new();
    for id in 0..rng.u64(4..16) {
        let from = rng.u64(..nodes as u64) as usize;
        let to = (from + 1 + rng.u64(..nodes as u64 - 1) as usize) % nodes;
        let (len, at) = (length(rng), rng.u64(..SPAN_NS));
        match rng.u64(..10) {
            0..6 => {
                let is_short = happens(rng, 100);
                let room = if is_short { rng.u64(..len + 1) } else { len + rng.u64(..100) };
                commands.push((rng.u64(..SPAN_NS), Command::Receive { id, at: to, from, room }));
                commands.push((at, Command::Send { id, from, to, len, inject: len <= 16_384 && happens(rng, 300) }));
            }
            _ => {
                let is_write = happens(rng, 500);
                commands.push((at, Command::Access { id, from, to, len: len.max(1), is_write }));
                if happens(rng, 500) {
                    commands.push((at + rng.u64(..SPAN_NS), Command::End { id }));
                }
            }
        }
    }
    for _ in 0..rng.u64(..4) {
        let (rail, at) = (rng.u64(..rails as u64) as usize, rng.u64(..SPAN_NS));
        let lasts = rng.choice([10_000, 1_000_000, 1_000_000_000]).unwrap();
        let a = rng.u64(..nodes as u64) as usize;
        let b = (a + 1) % nodes;
        let what = |now| match at % 2 {
            0 => Command::Cut { rail, a, b, is_cut: now },
            _ => Command::Vanish { rail, node: a, is_gone: now },
        };
        commands.extend([(at, what(true)), (at + lasts, what(false))]);
    }
    if happens(rng, 100) {
        let a = rng.u64(..nodes as u64) as usize;
        commands.push((rng.u64(..SPAN_NS), Command::Part { a, b: (a + 1) % nodes }));
    }
    commands
}

/// Lengths around the limits of copying and cutting.
fn length(rng: &mut Rng) -> u64 {
    match rng.u64(..10) {
        0..3 => rng.u64(..200),
        3 => 16_384 - 2 + rng.u64(..4),
        4..9 => rng.u64(16_000..40_000),
        _ => rng.u64(40_000..150_000),
    }
}
