//! What a seed means: how many nodes and rails there are, how they behave, and what is done.

use fishplate_engine::Config;

use super::command::Command;
use crate::ofi::simulated::{Mood, Rng};

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
    pub fn of(seed: u64) -> Setup {
        let mut rng = Rng(seed);
        let (nodes, rails) = (if rng.permille(200) { 3 } else { 2 }, rng.range(1, 4) as usize);
        let config = Config {
            multiplexing: rng.pick(&MULTIPLEXING).parse().unwrap(),
            striping: rng.pick(&STRIPING).parse().unwrap(),
            eager_limit: *rng.pick(&[None, None, Some(0), Some(4096), Some(1 << 20)]),
            grant: *rng.pick(&[65_536, 4 << 20]),
            ..Config::default()
        };
        let mood = mood(&mut rng);
        let commands = commands(&mut rng, nodes, rails);
        Setup { seed, nodes, rails, config, mood, commands }
    }
}

fn mood(rng: &mut Rng) -> Mood {
    let least = *rng.pick(&[500, 5000, 100_000]);
    Mood {
        delay_ns: (least, least * *rng.pick(&[1, 3, 20])),
        late_ns: *rng.pick(&[0, 1000, 50_000, 1_000_000]),
        busy: *rng.pick(&[0, 0, 50, 300]),
        failure: *rng.pick(&[0, 0, 5, 50]),
        stuck: *rng.pick(&[0, 0, 0, 20]),
        unregistered: *rng.pick(&[0, 0, 0, 50, 1000]),
        invented: *rng.pick(&[0, 0, 0, 20]),
        is_manual: rng.permille(300),
        inject_len: *rng.pick(&[0, 64, 256, 4096]),
    }
}

fn commands(rng: &mut Rng, nodes: usize, rails: usize) -> Vec<(u64, Command)> {
    let mut commands = Vec::new();
    for id in 0..rng.range(4, 16) {
        let from = rng.below(nodes as u64) as usize;
        let to = (from + 1 + rng.below(nodes as u64 - 1) as usize) % nodes;
        let (len, at) = (length(rng), rng.below(SPAN_NS));
        match rng.below(10) {
            0..6 => {
                let is_short = rng.permille(100);
                let room = if is_short { rng.below(len + 1) } else { len + rng.below(100) };
                commands.push((rng.below(SPAN_NS), Command::Receive { id, at: to, from, room }));
                commands.push((at, Command::Send { id, from, to, len, inject: len <= 16_384 && rng.permille(300) }));
            }
            _ => {
                let is_write = rng.permille(500);
                commands.push((at, Command::Access { id, from, to, len: len.max(1), is_write }));
                if rng.permille(500) {
                    commands.push((at + rng.below(SPAN_NS), Command::End { id }));
                }
            }
        }
    }
    for _ in 0..rng.below(4) {
        let (rail, at) = (rng.below(rails as u64) as usize, rng.below(SPAN_NS));
        let lasts = *rng.pick(&[10_000, 1_000_000, 1_000_000_000]);
        let a = rng.below(nodes as u64) as usize;
        let b = (a + 1) % nodes;
        let what = |now| match at % 2 {
            0 => Command::Cut { rail, a, b, is_cut: now },
            _ => Command::Vanish { rail, node: a, is_gone: now },
        };
        commands.extend([(at, what(true)), (at + lasts, what(false))]);
    }
    if rng.permille(100) {
        let a = rng.below(nodes as u64) as usize;
        commands.push((rng.below(SPAN_NS), Command::Part { a, b: (a + 1) % nodes }));
    }
    commands
}

/// Around the limits of what is copied and what is cut.
fn length(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0..3 => rng.below(200),
        3 => 16_384 - 2 + rng.below(4),
        4..9 => rng.range(16_000, 40_000),
        _ => rng.range(40_000, 150_000),
    }
}
