//! multirail-2004.

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::{KIB, MIB, greatest, least};
use crate::models::time::Time;
use crate::suite::{Benchmark, Disturbance, Options, over_time};

pub const ORIGINAL: Setting = Setting { testbed: "multirail-2004", stack: "original", with: &[], ranks: Ranks::PAIR };
pub const MULTIRAIL: Setting = Setting { stack: "multirail", ..ORIGINAL };
const STRIPING: &str = "stack.multirail.striping";
pub const SIZES: [u64; 12] =
    [4, 64, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 512 * KIB, MIB, 4 * MIB];
/// The figures of bandwidth end here.
const LARGE: u64 = MIB;
/// "we have forced the second HCA on each node to run at 1x speed" (section 6.3).
const SLOW: (&str, &str) = ("rail.1.link.mbit", "2000");
/// Adaptive weights take some messages to follow.
const LONG: u32 = 12;

pub fn smallest_latency(experiments: &Experiments) -> Values {
    let of = |setting| experiments.value(setting, Benchmark::Latency, &Options { size: 1, ..Options::default() });
    values([("original, us", of(&ORIGINAL)), ("multirail, us", of(&MULTIRAIL))])
}

pub fn large_latency(experiments: &Experiments) -> Values {
    let of = |setting| experiments.curve("figure 5", setting, Benchmark::Latency, &SIZES)[SIZES.len() - 1];
    let original = of(&ORIGINAL);
    values([("multirail / original, 4 MiB", of(&MULTIRAIL) / original)])
}

pub fn small_messages(experiments: &Experiments) -> Values {
    let sizes: Vec<u64> = (0..=12).map(|power| 1 << power).collect();
    let of = |setting| experiments.curve("figure 6", setting, Benchmark::Bandwidth, &sizes);
    let ratios: Vec<f64> = of(&MULTIRAIL).iter().zip(of(&ORIGINAL)).map(|(new, old)| new / old).collect();
    values([
        ("multirail / original, least of 1 B to 4 KiB", least(&ratios)),
        ("multirail / original, most of 1 B to 4 KiB", greatest(&ratios)),
        ("multirail / original, mean of 1 B to 4 KiB", ratios.iter().sum::<f64>() / ratios.len() as f64),
    ])
}

/// Two processes a node; MB/s of all pairs.
fn smp_stacks(experiments: &Experiments, figure: &'static str, pairs: &[(u32, u32)]) -> Values {
    let options = Options { pairs: Some(pairs.to_vec()), size: LARGE, ..Options::default() };
    let of = |setting: Setting| {
        let setting = Setting { ranks: Ranks::of(4, 2), ..setting };
        let rates = experiments.curve_with(figure, &setting, Benchmark::MessageRate, (&[LARGE], &options));
        rates[0] * LARGE as f64 / 1e6
    };
    let binding = [(STRIPING, "binding"), ("stack.multirail.multiplexing", "binding")];
    values([
        ("original, MB/s", of(ORIGINAL)),
        ("binding, MB/s", of(Setting { with: &binding, ..MULTIRAIL })),
        ("striping, MB/s", of(MULTIRAIL)),
    ])
}

/// "the two senders are on separate nodes": ranks 0 and 1 on one node, 2 and 3 on the other.
pub fn smp(experiments: &Experiments) -> Values {
    smp_stacks(experiments, "figure 9", &[(0, 2), (3, 1)])
}

pub fn smp_both_ways(experiments: &Experiments) -> Values {
    smp_stacks(experiments, "figure 10", &[(0, 2), (2, 0), (1, 3), (3, 1)])
}

pub fn collectives(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let sizes = [KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB];
    let options = Options { iterations: 2, warmup: 1, ..Options::default() };
    for (name, benchmark, figure, ranks, per_node) in [
        ("bcast", Benchmark::Bcast, "figure 11", 8, 1),
        ("bcast", Benchmark::Bcast, "figure 13", 16, 2),
        ("alltoall", Benchmark::Alltoall, "figure 12", 8, 1),
        ("alltoall", Benchmark::Alltoall, "figure 14", 16, 2),
    ] {
        for setting in [ORIGINAL, MULTIRAIL] {
            let setting = Setting { ranks: Ranks::of(ranks, per_node), ..setting };
            let curve = experiments.curve_with(figure, &setting, benchmark, (&sizes, &options));
            found.insert(format!("{name} {ranks}, {}, us", setting.stack), curve[sizes.len() - 1]);
        }
    }
    found
}

/// The multirail MPI with another striping policy, over a fast and a slow rail.
fn unequal(experiments: &Experiments, figure: &'static str, striping: &str, benchmark: Benchmark) -> f64 {
    let with = [SLOW, (STRIPING, striping)];
    let options = Options { warmup: LONG, ..Options::default() };
    let setting = Setting { with: &with, ..MULTIRAIL };
    experiments.curve_with(figure, &setting, benchmark, (&[64 * KIB, LARGE], &options))[1]
}

pub fn unequal_rails(experiments: &Experiments) -> Values {
    let of = |striping| unequal(experiments, "figure 18", striping, Benchmark::Bandwidth);
    let (even, weighted, adaptive) = (of("even"), of("weighted:4,1"), of("adaptive"));
    let alone = |rails: &str| {
        let with = [SLOW, ("stack.original.rails.0", rails)];
        let options = Options { size: LARGE, ..Options::default() };
        experiments.value(&Setting { with: &with, ..ORIGINAL }, Benchmark::Bandwidth, &options)
    };
    values([
        ("even, MB/s", even),
        ("weighted, MB/s", weighted),
        ("adaptive, MB/s", adaptive),
        ("weighted / sum of the rails", weighted / (alone("0") + alone("1"))),
    ])
}

pub fn unequal_rails_both_ways(experiments: &Experiments) -> Values {
    let of = |striping| unequal(experiments, "figure 19", striping, Benchmark::Bibandwidth);
    let (weighted, adaptive) = (of("weighted:4,1"), of("adaptive"));
    let with = [SLOW, (STRIPING, "adaptive")];
    let options = Options { size: LARGE, warmup: LONG, ..Options::default() };
    let outcome = experiments.outcome(&Setting { with: &with, ..MULTIRAIL }, Benchmark::Bibandwidth, &options);
    let shares = shares(&outcome.policies);
    let ratio = shares.first().zip(shares.get(1)).map_or(0.0, |(first, second)| first / second);
    values([
        ("weighted, MB/s", weighted),
        ("adaptive, MB/s", adaptive),
        ("adaptive / weighted", adaptive / weighted),
        ("adaptive, share of rail 1 over that of rail 2", ratio),
    ])
}

/// The shares that the adaptive policy explains itself with.
fn shares(explained: &str) -> Vec<f64> {
    let shares = explained.rsplit("shares ").next().unwrap_or_default();
    shares.split_whitespace().filter_map(|share| share.parse().ok()).collect()
}

/// Seconds are a hundred times shorter here: a simulated adapter does not get tired.
pub fn disturbed(experiments: &Experiments) -> Values {
    let disturbance = Disturbance { rail: 1, from: Time::ms(200), until: Time::ms(500) };
    let mut found = Values::new();
    for striping in ["even", "adaptive"] {
        let with = [(STRIPING, striping)];
        let machine = experiments.machine(&Setting { with: &with, ranks: Ranks::of(4, 2), ..MULTIRAIL });
        let times = (Time::ms(25), Time::ms(700));
        let seconds = machine.and_then(|machine| over_time(&machine, (LARGE, 16), times, disturbance));
        let seconds = experiments.or_fail(seconds);
        for (when, from, until) in [("before", 0.05, 0.2), ("during", 0.26, 0.5), ("after", 0.58, 0.7)] {
            let of = seconds.iter().filter(|second| second.end_s > from && second.end_s <= until);
            let of: Vec<f64> = of.map(|second| second.value).collect();
            let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
            found.insert(format!("{striping} {when} it, MB/s"), mean);
        }
    }
    found
}
