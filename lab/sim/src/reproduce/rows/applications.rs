//! Applications, of three papers.

use fishplate_trace::cycle::Cycle;
use fishplate_trace::{CollectiveKind, Operation};

use super::super::applications::{Iteration, recorded, run};
use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::wan::DELAY;
use super::{KIB, MIB};

/// Of endapps-2006: name, as it was recorded, iterations of a whole run. Ranks are those whose messages E6 counts.
const NAS: [(&str, &str, u32); 7] = [
    ("IS", "is.B-8", 10),
    ("CG", "cg.B-8", 75),
    ("MG", "mg.B-8", 20),
    ("EP", "ep.B-8", 1),
    ("LU", "lu.B-8", 250),
    ("SP", "sp.B-4", 400),
    ("BT", "bt.B-4", 200),
];
/// Of multirail-2004: class, ranks, ranks of a node.
const CASES: [(&str, u32, u32); 4] = [("A", 8, 1), ("B", 8, 1), ("A", 16, 2), ("B", 16, 2)];

fn ranks(name: &str) -> u32 {
    name.rsplit('-').next().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// Time with two rails, relative to one: in MPI, and of the whole run.
fn multirail(experiments: &Experiments, name: &str, ranks: Ranks) -> [f64; 2] {
    let of = |stack| run(experiments, &Setting { testbed: "multirail-2004", stack, with: &[], ranks }, name);
    let (one, two) = (of("original"), of("multirail"));
    [two.communication_s / one.communication_s, two.run_s / one.run_s]
}

/// Time saved by two rails, in percent: in MPI, and of the whole run.
fn saved(experiments: &Experiments, name: &str, ranks: Ranks) -> [f64; 2] {
    multirail(experiments, name, ranks).map(|ratio| 100.0 * (1.0 - ratio))
}

pub fn fourier_transform(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    for (class, ranks, per_node) in CASES {
        let ratios = multirail(experiments, &format!("ft.{class}-{ranks}"), Ranks::of(ranks, per_node));
        for (ratio, what) in ratios.into_iter().zip(["communication", "run time"]) {
            found.insert(format!("class {class}, {ranks} processes: {what}, multirail / original"), ratio);
        }
    }
    found
}

pub fn integer_sort(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let mut most = [0.0, 0.0_f64];
    for (class, ranks, per_node) in CASES {
        let saved = saved(experiments, &format!("is.{class}-{ranks}"), Ranks::of(ranks, per_node));
        for ((saved, most), what) in saved.into_iter().zip(&mut most).zip(["communication", "run time"]) {
            *most = most.max(saved);
            found.insert(format!("class {class}, {ranks} processes: {what} saved, %"), saved);
        }
    }
    found.insert("communication saved at most, %".into(), most[0]);
    found.insert("run time saved at most, %".into(), most[1]);
    found
}

pub fn visualization(experiments: &Experiments) -> Values {
    let [communication, whole] = saved(experiments, "visualization-8", Ranks::of(8, 1));
    values([("communication saved, %", communication), ("run time saved, %", whole)])
}

/// One process on a node of endapps-2006.
fn nas(experiments: &Experiments, stack: &str, name: &str) -> Iteration {
    let setting = Setting { testbed: "endapps-2006", stack, with: &[], ranks: Ranks::of(ranks(name), 1) };
    run(experiments, &setting, name)
}

/// E5 and E6 do not tell EP.
fn without_ep() -> impl Iterator<Item = (&'static str, &'static str, u32)> {
    NAS.into_iter().filter(|(told, ..)| *told != "EP")
}

pub fn nas_shares(experiments: &Experiments) -> Values {
    let share = |name| 100.0 * nas(experiments, "tcp", name).share();
    without_ep().map(|(told, name, _)| (format!("{told}, % of the run time"), share(name))).collect()
}

/// Bytes that a call sends or receives, and its class in the paper.
fn lengths(operation: &Operation, ranks: u32) -> Vec<u64> {
    match operation {
        Operation::Send(send) => vec![send.bytes],
        Operation::Receive(receive) => vec![receive.bytes],
        Operation::Exchange(send, receive) => vec![send.bytes, receive.bytes],
        Operation::Collective(collective) if collective.kind != CollectiveKind::Make => {
            vec![collective.sent.sum(if collective.kind == CollectiveKind::Alltoall { ranks as usize } else { 1 })]
        }
        _ => Vec::new(),
    }
}

/// Of all calls of a process.
fn recorded_lengths(experiments: &Experiments, name: &str) -> Vec<u64> {
    let all = |cycle: Cycle| cycle.calls(0).flat_map(|operation| lengths(operation, cycle.ranks())).collect();
    experiments.or_fail(recorded(name).map(all))
}

pub fn nas_messages(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let sizes = [("<2K", 0..2 * KIB), ("2K-16K", 2 * KIB..16 * KIB), ("16K-1M", 16 * KIB..MIB), (">1M", MIB..u64::MAX)];
    for (told, name, iterations) in without_ep() {
        let lengths = recorded_lengths(experiments, name);
        for (size, range) in &sizes {
            let count = lengths.iter().filter(|length| range.contains(length)).count() as u32;
            found.insert(format!("{told}, {size}"), f64::from(count * iterations));
        }
    }
    found
}

/// Where MVAPICH2 of 2008 began a rendezvous; and where its messages filled the link of wan-2008 at a millisecond.
const LARGE: [(&str, u64); 2] = [("8 KiB", 8 * KIB), ("64 KiB", 64 * KIB)];

/// Of the messages of a process, how many are as long as what may count as large.
pub fn distant_messages(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    for (told, name) in DISTANT {
        let lengths = recorded_lengths(experiments, name);
        for (size, least) in LARGE {
            let large = lengths.iter().filter(|length| **length >= least).count();
            found.insert(format!("{told}, {size} and more, %"), 100.0 * large as f64 / lengths.len() as f64);
        }
    }
    found
}

/// The part of InfiniBand's gain that EFSockets has, in percent, by the paper's formula: of the time over each.
pub fn rpi(time: impl Fn(&'static str) -> f64) -> f64 {
    let [tcp, striped, infiniband] = ["tcp", "ef-sockets", "mvapich2"].map(time);
    100.0 * (tcp - striped) / (tcp - infiniband)
}

pub fn nas_rpi(experiments: &Experiments) -> Values {
    let of = |name| rpi(|stack| nas(experiments, stack, name).communication_s);
    NAS.map(|(told, name, _)| (format!("{told}, RPI, %"), of(name))).into()
}

/// Programs on 32 + 32 processes.
const DISTANT: [(&str, &str); 3] = [("IS", "is.B-64"), ("FT", "ft.B-64"), ("CG", "cg.B-64")];

pub fn distant(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    let ranks = Ranks { count: 64, per_node: 1, clusters: 2 };
    for (told, name) in DISTANT {
        let of = |delay| {
            let with = [(DELAY, delay)];
            run(experiments, &Setting { testbed: "wan-2008", stack: "mvapich2", with: &with, ranks }, name).run_s
        };
        let near = of("0");
        for (delay, at) in [("100", "100 us"), ("1000", "1 ms")] {
            found.insert(format!("{told}, run time, {at} / no delay"), of(delay) / near);
        }
    }
    found
}
