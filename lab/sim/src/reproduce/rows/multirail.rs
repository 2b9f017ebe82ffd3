//! multirail-2004.

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use crate::models::time::Time;
use crate::suite::{Benchmark, Disturbance, Options, over_time};

const TESTBED: &str = "multirail-2004";
pub const ORIGINAL: Setting = Setting { testbed: TESTBED, stack: "original", with: &[], ranks: Ranks::PAIR };
pub const MULTIRAIL: Setting = Setting { stack: "multirail", ..ORIGINAL };
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SIZES: [u64; 12] =
    [4, 64, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 512 * KIB, MIB, 4 * MIB];
/// The figures of bandwidth end here.
const LARGE: u64 = MIB;
/// "we have forced the second HCA on each node to run at 1x speed" (section 6.3).
const SLOW: (&str, &str) = ("rail.1.link.mbit", "2000");
/// Adaptive weights take some messages to follow.
const LONG: u32 = 12;

pub fn peak(
    experiments: &Experiments,
    figure: &'static str,
    setting: &Setting,
    benchmark: Benchmark,
) -> Result<Values, String> {
    let curve = experiments.curve(figure, setting, benchmark, (&SIZES, &Options::default()))?;
    Ok(values([("peak, MB/s", curve.into_iter().fold(0.0, f64::max))]))
}

pub fn smallest_latency(experiments: &Experiments) -> Result<Values, String> {
    let options = Options { size: 1, ..Options::default() };
    let of = |setting| experiments.value(setting, Benchmark::Latency, &options);
    Ok(values([("original, us", of(&ORIGINAL)?), ("multirail, us", of(&MULTIRAIL)?)]))
}

pub fn large_latency(experiments: &Experiments) -> Result<Values, String> {
    let of = |setting| experiments.curve("figure 5", setting, Benchmark::Latency, (&SIZES, &Options::default()));
    let (original, multirail) = (of(&ORIGINAL)?, of(&MULTIRAIL)?);
    let last = SIZES.len() - 1;
    Ok(values([("multirail / original, 4 MiB", multirail[last] / original[last])]))
}

pub fn small_messages(experiments: &Experiments) -> Result<Values, String> {
    let sizes: Vec<u64> = (0..=12).map(|power| 1 << power).collect();
    let of = |setting| experiments.curve("figure 6", setting, Benchmark::Bandwidth, (&sizes, &Options::default()));
    let ratios: Vec<f64> = of(&MULTIRAIL)?.iter().zip(of(&ORIGINAL)?).map(|(new, old)| new / old).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    Ok(values([
        ("multirail / original, least of 1 B to 4 KiB", ratios.iter().copied().fold(f64::INFINITY, f64::min)),
        ("multirail / original, most of 1 B to 4 KiB", ratios.iter().copied().fold(0.0, f64::max)),
        ("multirail / original, mean of 1 B to 4 KiB", mean),
    ]))
}

/// Two processes a node; MB/s of all pairs.
fn smp_of(
    experiments: &Experiments,
    figure: &'static str,
    setting: &Setting,
    pairs: &[(u32, u32)],
) -> Result<f64, String> {
    let setting = Setting { ranks: Ranks::of(4, 2), ..*setting };
    let options = Options { pairs: Some(pairs.to_vec()), size: LARGE, ..Options::default() };
    let rates = experiments.curve(figure, &setting, Benchmark::MessageRate, (&[LARGE], &options))?;
    Ok(rates[0] * LARGE as f64 / 1e6)
}

fn smp_stacks(experiments: &Experiments, figure: &'static str, pairs: &[(u32, u32)]) -> Result<Values, String> {
    let binding = [("stack.multirail.striping", "binding"), ("stack.multirail.multiplexing", "binding")];
    let bound = Setting { with: &binding, ..MULTIRAIL };
    Ok(values([
        ("original, MB/s", smp_of(experiments, figure, &ORIGINAL, pairs)?),
        ("binding, MB/s", smp_of(experiments, figure, &bound, pairs)?),
        ("striping, MB/s", smp_of(experiments, figure, &MULTIRAIL, pairs)?),
    ]))
}

/// "the two senders are on separate nodes": ranks 0 and 1 on one node, 2 and 3 on the other.
pub fn smp(experiments: &Experiments) -> Result<Values, String> {
    smp_stacks(experiments, "figure 9", &[(0, 2), (3, 1)])
}

pub fn smp_both_ways(experiments: &Experiments) -> Result<Values, String> {
    smp_stacks(experiments, "figure 10", &[(0, 2), (2, 0), (1, 3), (3, 1)])
}

pub fn collectives(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    let sizes = [KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB];
    for (name, benchmark, figures) in [
        ("bcast", Benchmark::Bcast, ["figure 11", "figure 13"]),
        ("alltoall", Benchmark::Alltoall, ["figure 12", "figure 14"]),
    ] {
        for ((ranks, per_node), figure) in [(8, 1), (16, 2)].into_iter().zip(figures) {
            for setting in [ORIGINAL, MULTIRAIL] {
                let setting = Setting { ranks: Ranks::of(ranks, per_node), ..setting };
                let options = Options { iterations: 2, warmup: 1, ..Options::default() };
                let curve = experiments.curve(figure, &setting, benchmark, (&sizes, &options))?;
                found.insert(format!("{name} {ranks}, {}, us", setting.stack), curve[sizes.len() - 1]);
            }
        }
    }
    Ok(found)
}

/// The multirail MPI with another striping policy, over a fast and a slow rail.
fn unequal(
    experiments: &Experiments,
    figure: &'static str,
    striping: &str,
    benchmark: Benchmark,
) -> Result<f64, String> {
    let with = [SLOW, ("stack.multirail.striping", striping)];
    let options = Options { warmup: LONG, ..Options::default() };
    Ok(experiments.curve(figure, &Setting { with: &with, ..MULTIRAIL }, benchmark, (&[64 * KIB, LARGE], &options))?[1])
}

pub fn unequal_rails(experiments: &Experiments) -> Result<Values, String> {
    let of = |striping| unequal(experiments, "figure 18", striping, Benchmark::Bandwidth);
    let (even, weighted, adaptive) = (of("even")?, of("weighted:4,1")?, of("adaptive")?);
    let options = Options { size: LARGE, ..Options::default() };
    let alone = |rails: &str| -> Result<f64, String> {
        let with = [SLOW, ("stack.original.rails.0", rails)];
        experiments.value(&Setting { with: &with, ..ORIGINAL }, Benchmark::Bandwidth, &options)
    };
    let sum = alone("0")? + alone("1")?;
    let named = [
        ("even, MB/s", even),
        ("weighted, MB/s", weighted),
        ("adaptive, MB/s", adaptive),
        ("weighted / sum of the rails", weighted / sum),
    ];
    Ok(values(named))
}

pub fn unequal_rails_both_ways(experiments: &Experiments) -> Result<Values, String> {
    let of = |striping| unequal(experiments, "figure 19", striping, Benchmark::Bibandwidth);
    let (weighted, adaptive) = (of("weighted:4,1")?, of("adaptive")?);
    let with = [SLOW, ("stack.multirail.striping", "adaptive")];
    let options = Options { size: LARGE, warmup: LONG, ..Options::default() };
    let outcome = experiments.outcome(&Setting { with: &with, ..MULTIRAIL }, Benchmark::Bibandwidth, &options)?;
    let shares = shares(&outcome.policies);
    let ratio = shares.first().zip(shares.get(1)).map_or(0.0, |(first, second)| first / second);
    let named = [
        ("weighted, MB/s", weighted),
        ("adaptive, MB/s", adaptive),
        ("adaptive / weighted", adaptive / weighted),
        ("adaptive, share of rail 1 over that of rail 2", ratio),
    ];
    Ok(values(named))
}

/// The shares that the adaptive policy explains itself with.
fn shares(explained: &str) -> Vec<f64> {
    let shares = explained.rsplit("shares ").next().unwrap_or_default();
    shares.split_whitespace().filter_map(|share| share.parse().ok()).collect()
}

/// Seconds are a hundred times shorter here: a simulated adapter does not get tired.
pub fn disturbed(experiments: &Experiments) -> Result<Values, String> {
    let ms = |ms: f64| Time::ns(ms * 1e6);
    let disturbance = Disturbance { rail: 1, from: ms(200.0), until: ms(500.0) };
    let mut found = Values::new();
    for striping in ["even", "adaptive"] {
        let with = [("stack.multirail.striping", striping)];
        let machine = experiments.machine(&Setting { with: &with, ranks: Ranks::of(4, 2), ..MULTIRAIL })?;
        let seconds = over_time(&machine, (LARGE, 16), (ms(25.0), ms(700.0)), disturbance)?;
        let mean = |from: f64, until: f64| {
            let of: Vec<f64> = seconds.iter().filter(|s| s.end_s > from && s.end_s <= until).map(|s| s.value).collect();
            of.iter().sum::<f64>() / of.len().max(1) as f64
        };
        found.insert(format!("{striping} before it, MB/s"), mean(0.05, 0.2));
        found.insert(format!("{striping} during it, MB/s"), mean(0.26, 0.5));
        found.insert(format!("{striping} after it, MB/s"), mean(0.58, 0.7));
    }
    Ok(found)
}
