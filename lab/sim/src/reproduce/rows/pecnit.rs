//! pecnit-2007.

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::{KIB, greatest, least};
use crate::suite::{Benchmark, Options};

const LARGE: u64 = 4 << 20;
const SIZES: [u64; 12] = [4, 64, 512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 128 * KIB, 1 << 20, LARGE];
const INFINIBAND: (&str, &str) = ("InfiniBand", "pecnit-2007-ib");
const SYSTEMS: [(&str, &str); 2] = [("Quadrics", "pecnit-2007-quadrics"), INFINIBAND];
/// Hosts of n-hop and ring: more than one block.
const HOSTS: Ranks = Ranks { count: 16, per_node: 1, clusters: 1 };

fn setting((_, testbed): (&'static str, &'static str)) -> Setting<'static> {
    Setting { testbed, stack: "mpi", with: &[], ranks: Ranks::PAIR }
}

/// Latencies at some sizes.
pub fn at(experiments: &Experiments, benchmark: Benchmark, sizes: &[(u64, &str)]) -> Values {
    let mut found = Values::new();
    for (system, (size, told)) in SYSTEMS.iter().flat_map(|system| sizes.iter().map(move |size| (system, size))) {
        let options = Options { size: *size, ..Options::default() };
        let us = experiments.value(&setting(*system), benchmark, &options);
        found.insert(format!("{} {told}, us", system.0), us);
    }
    found
}

/// Curves of both systems.
fn curves(experiments: &Experiments, figure: &'static str, benchmark: Benchmark) -> [Vec<f64>; 2] {
    SYSTEMS.map(|system| experiments.curve(figure, &setting(system), benchmark, &SIZES))
}

fn position(size: u64) -> usize {
    SIZES.iter().position(|known| *known == size).unwrap_or_default()
}

/// Values of the curve of each system, with names that follow the system's.
fn each<const N: usize>(
    experiments: &Experiments,
    (figure, benchmark): (&'static str, Benchmark),
    of: impl Fn(&[f64]) -> [(&'static str, f64); N],
) -> Values {
    let curves = SYSTEMS.iter().zip(curves(experiments, figure, benchmark));
    let named = curves.flat_map(|((name, _), curve)| of(&curve).map(|(what, value)| (format!("{name}{what}"), value)));
    named.collect()
}

const BANDWIDTH: (&str, Benchmark) = ("figure 2", Benchmark::Bandwidth);

pub fn bandwidth(experiments: &Experiments) -> Values {
    each(experiments, BANDWIDTH, |curve| [(", MB/s", greatest(curve))])
}

pub fn half_of_peak(experiments: &Experiments) -> Values {
    each(experiments, BANDWIDTH, |curve| {
        let part = |size| curve[position(size)] / greatest(curve);
        [(", part of the peak at 1 KiB", part(KIB)), (", part of the peak at 2 KiB", part(2 * KIB))]
    })
}

pub fn both_ways(experiments: &Experiments) -> Values {
    each(experiments, ("figure 3", Benchmark::Bibandwidth), |curve| {
        [(", MB/s", greatest(curve)), (" at 1 KiB, MB/s", curve[position(KIB)])]
    })
}

pub fn put_bandwidth(experiments: &Experiments) -> Values {
    let two_sided = bandwidth(experiments);
    let mut found = each(experiments, ("figure 7", Benchmark::PutBandwidth), |curve| [(", MB/s", greatest(curve))]);
    for (name, _) in SYSTEMS {
        let key = format!("{name}, MB/s");
        found.insert(format!("{name} / two-sided"), found[&key] / two_sided[&key]);
    }
    found
}

pub fn put_both_ways(experiments: &Experiments) -> Values {
    each(experiments, ("figure 8", Benchmark::PutBibandwidth), |curve| {
        [(" at 16 KiB, MB/s", curve[position(16 * KIB)]), (" at 4 MiB, MB/s", curve[position(LARGE)])]
    })
}

pub fn get_bandwidth(experiments: &Experiments) -> Values {
    let [quadrics, infiniband] = curves(experiments, "figure 9", Benchmark::GetBandwidth);
    let from = position(32 * KIB);
    let ratios = |of: &[f64], over: &[f64]| of.iter().zip(over).map(|(a, b)| a / b).collect::<Vec<_>>();
    let below = least(&ratios(&infiniband[..from], &quadrics[..from]));
    let beyond = least(&ratios(&quadrics[from..], &infiniband[from..]));
    let [quadrics, infiniband] = curves(experiments, "figure 10", Benchmark::GetBibandwidth);
    let gaps = quadrics.iter().zip(&infiniband).map(|(quadrics, infiniband)| quadrics - infiniband);
    let largest = gaps.zip(SIZES).max_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap_or_default();
    values([
        ("InfiniBand / Quadrics, least below 32 KiB", below),
        ("Quadrics / InfiniBand, least from 32 KiB on", beyond),
        ("both ways: size of the largest gap, bytes", largest.1 as f64),
        ("both ways: largest gap, MB/s", largest.0),
    ])
}

/// Values of each part of a benchmark on several hosts, in order.
fn parts(experiments: &Experiments, setting: Setting, benchmark: Benchmark, options: &Options) -> Vec<f64> {
    let mut parts = experiments.outcome(&Setting { ranks: HOSTS, ..setting }, benchmark, options).parts;
    parts.sort_by_key(|(part, _)| *part);
    parts.into_iter().map(|(_, value)| value).collect()
}

pub fn hops(experiments: &Experiments) -> Values {
    let [quadrics, infiniband] =
        SYSTEMS.map(|system| parts(experiments, setting(system), Benchmark::Nhop, &Options::default()));
    // The first host has the rest of its block as nearest peers.
    let block = experiments.machine(&setting(INFINIBAND)).map(|machine| {
        let switch = machine.testbed.rail[0].switch.as_ref();
        switch.and_then(|switch| switch.block_nodes.as_ref()).map(|nodes| nodes.value as usize)
    });
    let block = experiments.or_fail(block).unwrap_or(infiniband.len());
    let (own, other) = infiniband.split_at((block - 1).min(infiniband.len()));
    values([
        ("Quadrics, slowest / fastest peer", greatest(&quadrics) / least(&quadrics)),
        ("InfiniBand, slowest / fastest peer of its own block", greatest(own) / least(own)),
        ("InfiniBand, fastest peer of the other block / slowest of its own", least(other) / greatest(own)),
    ])
}

pub fn ring(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let options = Options { size: 1 << 20, window: 16, iterations: 1, warmup: 0, ..Options::default() };
    let of = |setting| parts(experiments, setting, Benchmark::DisplacedRing, &options);
    for system in SYSTEMS {
        let (name, rates) = (system.0, of(setting(system)));
        found.insert(format!("{name}, least / most over displacements"), least(&rates) / greatest(&rates));
        found.insert(format!("{name}, MB/s"), greatest(&rates));
    }
    // The report: 60 % of a network would not be seen behind this bus.
    let rates = of(Setting { with: &[("rail.hca.switch.uplinks", "5")], ..setting(INFINIBAND) });
    let name = "InfiniBand, 5 of 8 inner links: least / most over displacements";
    found.insert(name.into(), least(&rates) / greatest(&rates));
    found
}
