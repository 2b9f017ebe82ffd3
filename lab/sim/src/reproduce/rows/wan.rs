//! wan-2008.

use fishplate_collectives::Algorithm;

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::{KIB, MIB, greatest, peak};
use crate::suite::{Benchmark, Options};

pub const DELAY: &str = "wan.delay_us";
const NEAR: [(&str, &str); 1] = [(DELAY, "0")];
const DELAYS: [(&str, &str); 5] =
    [("0", "no delay"), ("10", "10 us"), ("100", "100 us"), ("1000", "1 ms"), ("10000", "10 ms")];
/// "Messages with size 2M are used in all the experiments" (section 3.3).
const TCP_MESSAGE: u64 = 2 * MIB;
const PROCESSES: u32 = 128;
const CONNECTION_SIZES: [u64; 5] = [KIB, 4 * KIB, 64 * KIB, MIB, 4 * MIB];

/// A stack at a delay.
fn far<'a>(stack: &'a str, with: &'a [(&'a str, &'a str)]) -> Setting<'a> {
    Setting { testbed: "wan-2008", stack, with, ranks: Ranks::APART }
}

fn streamed(experiments: &Experiments, figure: &'static str, (stack, delay): (&str, &str), sizes: &[u64]) -> Vec<f64> {
    experiments.curve(figure, &far(stack, &[(DELAY, delay)]), Benchmark::Stream, sizes)
}

pub fn datagrams(experiments: &Experiments) -> Values {
    let sizes = [64, 256, 512, KIB, 2 * KIB];
    peak(experiments, "figure 2a", &far("verbs-ud", &NEAR), Benchmark::Stream, &sizes)
}

pub fn datagrams_over_distance(experiments: &Experiments) -> Values {
    let of = |delay| streamed(experiments, "figure 2a", ("verbs-ud", delay), &[512, 2 * KIB]);
    let (near, far) = (of("0"), of("10000"));
    values([("10 ms / no delay, 512 B", far[0] / near[0]), ("10 ms / no delay, 2 KiB", far[1] / near[1])])
}

pub fn connection(experiments: &Experiments) -> Values {
    peak(experiments, "figure 2b", &far("verbs-rc", &NEAR), Benchmark::Stream, &CONNECTION_SIZES)
}

pub fn connection_over_distance(experiments: &Experiments) -> Values {
    let curves = DELAYS.map(|(delay, _)| streamed(experiments, "figure 2b", ("verbs-rc", delay), &CONNECTION_SIZES));
    let long = DELAYS.iter().zip(&curves).map(|((_, told), curve)| (format!("4 MiB at {told}, MB/s"), curve[4]));
    let mut found: Values = long.collect();
    let [near, .., far] = &curves;
    found.insert("1 KiB, 10 ms / no delay".into(), far[0] / near[0]);
    found.insert("64 KiB, 10 ms / no delay".into(), far[2] / near[2]);
    found
}

/// TCP over IPoIB: rate of `streams` streams between two hosts, in MB/s.
fn tcp(experiments: &Experiments, figure: &'static str, (stack, streams): (&str, u32), with: &[(&str, &str)]) -> f64 {
    let ranks = Ranks { count: 2 * streams, per_node: streams, clusters: 2 };
    let options = Options { window: 24, ..Options::default() };
    let setting = Setting { ranks, ..far(stack, with) };
    experiments.curve_with(figure, &setting, Benchmark::Stream, (&[TCP_MESSAGE], &options))[0]
}

pub fn windows(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let window = "transport.ipoib-ud.window_bytes";
    for (bytes, told) in [("65536", "64K"), ("262144", "256K"), ("1048576", "1M")] {
        let at = |delay| tcp(experiments, "figure 3a", ("ipoib-ud", 1), &[(window, bytes), (DELAY, delay)]);
        let [near, middle, far] = ["0", "1000", "10000"].map(at);
        found.insert(format!("window {told} at 1 ms, MB/s"), middle);
        found.insert(format!("window {told}, 10 ms / no delay"), far / near);
        if told == "1M" {
            let verbs = streamed(experiments, "figure 2a", ("verbs-ud", "0"), &[2 * KIB])[0];
            found.insert("peak / verbs UD".into(), near / verbs);
        }
    }
    found
}

pub fn streams(experiments: &Experiments) -> Values {
    let of = |(streams, delay)| tcp(experiments, "figure 3b", ("ipoib-ud", streams), &[(DELAY, delay)]);
    let runs = [(1, "0"), (1, "1000"), (8, "1000"), (1, "10000"), (8, "10000")];
    let [peak, one, eight, one_far, eight_far] = runs.map(of);
    values([
        ("8 streams / 1 stream at 1 ms", eight / one),
        ("8 streams at 1 ms / peak", eight / peak),
        ("8 streams / 1 stream at 10 ms", eight_far / one_far),
    ])
}

pub fn connected_ip(experiments: &Experiments) -> Values {
    let connected = tcp(experiments, "figure 4a", ("ipoib-rc", 1), &NEAR);
    let datagrams = tcp(experiments, "figure 3a", ("ipoib-ud", 1), &NEAR);
    values([("peak, MB/s", connected), ("IPoIB-UD, MB/s", datagrams)])
}

pub fn connected_streams(experiments: &Experiments) -> Values {
    let of = |streams, delay| tcp(experiments, "figure 4b", ("ipoib-rc", streams), &[(DELAY, delay)]);
    let peak = of(1, "0");
    values([
        ("1 stream, 100 us / no delay", of(1, "100") / peak),
        ("1 stream, 1 ms / no delay", of(1, "1000") / peak),
        ("2 streams at 1 ms / peak", of(2, "1000") / peak),
    ])
}

pub fn mpi_peak(experiments: &Experiments) -> Values {
    let sizes = [KIB, 8 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB];
    peak(experiments, "figure 5a", &far("mvapich2", &NEAR), Benchmark::Bandwidth, &sizes)
}

pub fn threshold(experiments: &Experiments) -> Values {
    let sizes = [KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB];
    let at = [(DELAY, "1000")];
    let of = |stack| experiments.curve("figure 5b", &far(stack, &at), Benchmark::Bandwidth, &sizes);
    let gains: Vec<f64> = of("mvapich2-64k").iter().zip(of("mvapich2")).map(|(new, old)| new / old).collect();
    values([("gain at 8 KiB", gains[2]), ("greatest gain of 8 to 64 KiB", greatest(&gains[2..6]))])
}

pub fn pairs(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    for (size, told) in [(8, "8 B"), (16 * KIB, "16 KiB")] {
        for (delay, at) in &DELAYS[2..] {
            let of = |pairs: u32| {
                let ranks = Ranks { count: 2 * pairs, per_node: 1, clusters: 2 };
                let with = [(DELAY, *delay)];
                let setting = Setting { ranks, ..far("mvapich2", &with) };
                experiments.value(&setting, Benchmark::MessageRate, &Options { size, ..Options::default() })
            };
            found.insert(format!("{told} at {at}, 8 pairs / 1"), of(8) / of(1));
        }
    }
    found
}

pub fn broadcast(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let ranks = Ranks { count: PROCESSES, per_node: 2, clusters: 2 };
    for (delay, told, figure) in
        [("10", "10 us", "figure 7a"), ("100", "100 us", "figure 7b"), ("1000", "1000 us", "figure 7c")]
    {
        let of = |algorithm| {
            let options = Options { algorithm, aligned: true, iterations: 2, warmup: 1, ..Options::default() };
            let with = [(DELAY, delay)];
            let setting = Setting { ranks, ..far("mvapich2", &with) };
            experiments.curve_with(figure, &setting, Benchmark::Bcast, (&[KIB, 16 * KIB, 128 * KIB], &options))
        };
        let (original, new) = (of(None), of(Some(Algorithm::Coordinators { segments: 1 })));
        found.insert(format!("{told}: part of the time saved"), 1.0 - new[2] / original[2]);
        found.insert(format!("1 KiB at {told}, hierarchical / original"), new[0] / original[0]);
    }
    found
}

pub fn newer_adapter(experiments: &Experiments) -> Values {
    let of = |stack| streamed(experiments, "figure 10", (stack, "1000"), &[KIB, 16 * KIB]);
    let (older, newer) = (of("verbs-rc"), of("verbs-rc-connectx"));
    values([
        ("1 KiB, older, MB/s", older[0]),
        ("1 KiB, newer, MB/s", newer[0]),
        ("16 KiB, older, MB/s", older[1]),
        ("16 KiB, newer, MB/s", newer[1]),
    ])
}
