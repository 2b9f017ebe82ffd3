//! pecnit-2007.

use super::super::experiments::{Experiments, Ranks, Setting, Values};
use crate::suite::{Benchmark, Options};

const KIB: u64 = 1 << 10;
const LARGE: u64 = 4 << 20;
const SIZES: [u64; 12] = [4, 64, 512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 128 * KIB, 1 << 20, LARGE];
const SYSTEMS: [(&str, &str); 2] = [("Quadrics", "pecnit-2007-quadrics"), ("InfiniBand", "pecnit-2007-ib")];
/// Hosts of n-hop and ring: more than one block.
const HOSTS: u32 = 16;

fn setting(testbed: &str) -> Setting<'_> {
    Setting { testbed, stack: "mpi", with: &[], ranks: Ranks::PAIR }
}

/// Latencies at some sizes.
fn at(experiments: &Experiments, benchmark: Benchmark, sizes: &[(u64, &str)]) -> Result<Values, String> {
    let mut found = Values::new();
    for (name, testbed) in SYSTEMS {
        for (size, told) in sizes {
            let options = Options { size: *size, ..Options::default() };
            found.insert(format!("{name} {told}, us"), experiments.value(&setting(testbed), benchmark, &options)?);
        }
    }
    Ok(found)
}

/// Curves of both systems.
fn curves(experiments: &Experiments, figure: &'static str, benchmark: Benchmark) -> Result<[Vec<f64>; 2], String> {
    let of = |testbed| experiments.curve(figure, &setting(testbed), benchmark, (&SIZES, &Options::default()));
    Ok([of(SYSTEMS[0].1)?, of(SYSTEMS[1].1)?])
}

fn position(size: u64) -> usize {
    SIZES.iter().position(|known| *known == size).unwrap_or_default()
}

fn peak(curve: &[f64]) -> f64 {
    curve.iter().copied().fold(0.0, f64::max)
}

pub fn latency(experiments: &Experiments) -> Result<Values, String> {
    at(experiments, Benchmark::Latency, &[(0, "0 B"), (4, "4 B")])
}

pub fn bandwidth(experiments: &Experiments) -> Result<Values, String> {
    let curves = curves(experiments, "figure 2", Benchmark::Bandwidth)?;
    Ok(SYSTEMS.iter().zip(curves).map(|((name, _), curve)| (format!("{name}, MB/s"), peak(&curve))).collect())
}

pub fn half_of_peak(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    for ((name, _), curve) in SYSTEMS.iter().zip(curves(experiments, "figure 2", Benchmark::Bandwidth)?) {
        for (size, told) in [(KIB, "1 KiB"), (2 * KIB, "2 KiB")] {
            found.insert(format!("{name}, part of the peak at {told}"), curve[position(size)] / peak(&curve));
        }
    }
    Ok(found)
}

pub fn both_ways(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    for ((name, _), curve) in SYSTEMS.iter().zip(curves(experiments, "figure 3", Benchmark::Bibandwidth)?) {
        found.insert(format!("{name}, MB/s"), peak(&curve));
        found.insert(format!("{name} at 1 KiB, MB/s"), curve[position(KIB)]);
    }
    Ok(found)
}

pub fn put_latency(experiments: &Experiments) -> Result<Values, String> {
    at(experiments, Benchmark::PutLatency, &[(4, "4 B"), (8 * KIB, "8 KiB"), (16 * KIB, "16 KiB")])
}

pub fn get_latency(experiments: &Experiments) -> Result<Values, String> {
    at(experiments, Benchmark::GetLatency, &[(0, "0 B"), (1, "1 B"), (4, "4 B")])
}

pub fn accumulate_latency(experiments: &Experiments) -> Result<Values, String> {
    at(experiments, Benchmark::AccumulateLatency, &[(4, "4 B"), (2 * KIB, "2 KiB"), (4 * KIB, "4 KiB")])
}

pub fn put_bandwidth(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    let two_sided = curves(experiments, "figure 2", Benchmark::Bandwidth)?;
    let put = curves(experiments, "figure 7", Benchmark::PutBandwidth)?;
    for ((name, _), (put, two_sided)) in SYSTEMS.iter().zip(put.iter().zip(&two_sided)) {
        found.insert(format!("{name}, MB/s"), peak(put));
        found.insert(format!("{name} / two-sided"), peak(put) / peak(two_sided));
    }
    Ok(found)
}

pub fn put_both_ways(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    for ((name, _), curve) in SYSTEMS.iter().zip(curves(experiments, "figure 8", Benchmark::PutBibandwidth)?) {
        found.insert(format!("{name} at 16 KiB, MB/s"), curve[position(16 * KIB)]);
        found.insert(format!("{name} at 4 MiB, MB/s"), curve[position(LARGE)]);
    }
    Ok(found)
}

pub fn get_bandwidth(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    let [quadrics, infiniband] = curves(experiments, "figure 9", Benchmark::GetBandwidth)?;
    let (below, from) = (0..position(32 * KIB), position(32 * KIB)..SIZES.len());
    let least = |of: &[f64], over: &[f64]| of.iter().zip(over).map(|(a, b)| a / b).fold(f64::INFINITY, f64::min);
    found.insert(
        "InfiniBand / Quadrics, least below 32 KiB".into(),
        least(&infiniband[below.clone()], &quadrics[below]),
    );
    found.insert(
        "Quadrics / InfiniBand, least from 32 KiB on".into(),
        least(&quadrics[from.clone()], &infiniband[from]),
    );
    let [quadrics, infiniband] = curves(experiments, "figure 10", Benchmark::GetBibandwidth)?;
    let gaps = quadrics.iter().zip(&infiniband).map(|(quadrics, infiniband)| quadrics - infiniband);
    let largest = gaps.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let largest = largest.map_or((0, 0.0), |(index, gap)| (SIZES[index], gap));
    found.insert("both ways: size of the largest gap, bytes".into(), largest.0 as f64);
    found.insert("both ways: largest gap, MB/s".into(), largest.1);
    Ok(found)
}

/// Values of each part of a benchmark on several hosts, in order.
fn parts(
    experiments: &Experiments,
    setting: &Setting,
    benchmark: Benchmark,
    options: &Options,
) -> Result<Vec<f64>, String> {
    let setting = Setting { ranks: Ranks::of(HOSTS, 1), ..*setting };
    let mut parts = experiments.outcome(&setting, benchmark, options)?.parts;
    parts.sort_by_key(|(part, _)| *part);
    Ok(parts.into_iter().map(|(_, value)| value).collect())
}

pub fn hops(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    let least = |peers: &[f64]| peers.iter().copied().fold(f64::INFINITY, f64::min);
    let quadrics = parts(experiments, &setting(SYSTEMS[0].1), Benchmark::Nhop, &Options::default())?;
    found.insert("Quadrics, slowest / fastest peer".into(), peak(&quadrics) / least(&quadrics));
    // The first host has the rest of its block as nearest peers.
    let infiniband = parts(experiments, &setting(SYSTEMS[1].1), Benchmark::Nhop, &Options::default())?;
    let machine = experiments.machine(&setting(SYSTEMS[1].1))?;
    let block = machine.testbed.rail[0].switch.as_ref().and_then(|switch| switch.block_nodes.as_ref());
    let block = block.map_or(infiniband.len(), |nodes| nodes.value as usize);
    let (own, other) = infiniband.split_at((block - 1).min(infiniband.len()));
    found.insert("InfiniBand, slowest / fastest peer of its own block".into(), peak(own) / least(own));
    found.insert("InfiniBand, fastest peer of the other block / slowest of its own".into(), least(other) / peak(own));
    Ok(found)
}

pub fn ring(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    let options = Options { size: 1 << 20, window: 16, iterations: 1, warmup: 0, ..Options::default() };
    let least = |rates: &[f64]| rates.iter().copied().fold(f64::INFINITY, f64::min);
    for (name, testbed) in SYSTEMS {
        let rates = parts(experiments, &setting(testbed), Benchmark::DisplacedRing, &options)?;
        found.insert(format!("{name}, least / most over displacements"), least(&rates) / peak(&rates));
        found.insert(format!("{name}, MB/s"), peak(&rates));
    }
    // The report: 60 % of a network would not be seen behind this bus.
    let fewer = Setting { with: &[("rail.hca.switch.uplinks", "5")], ..setting(SYSTEMS[1].1) };
    let rates = parts(experiments, &fewer, Benchmark::DisplacedRing, &options)?;
    found
        .insert("InfiniBand, 5 of 8 inner links: least / most over displacements".into(), least(&rates) / peak(&rates));
    Ok(found)
}
