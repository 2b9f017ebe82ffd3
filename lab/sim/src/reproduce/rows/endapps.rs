//! endapps-2006.

use super::super::experiments::{Experiments, Ranks, Setting, Values};
use crate::suite::{Benchmark, Options};

const SIZES: [u64; 10] = [1, 64, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20];
pub const NATIVE: [(&str, &str); 4] =
    [("TCP", "native-tcp"), ("EFSockets", "native-ef"), ("SDP", "sdp"), ("VAPI", "vapi")];
pub const MPI: [(&str, &str); 3] = [("TCP", "tcp"), ("EFSockets", "ef-sockets"), ("InfiniBand", "mvapich2")];

pub fn latency(experiments: &Experiments, figure: &'static str, stacks: &[(&str, &str)]) -> Result<Values, String> {
    let mut found = Values::new();
    for (name, stack) in stacks {
        let curve = experiments.curve(figure, &on(stack), Benchmark::Latency, (&SIZES[..5], &Options::default()))?;
        found.insert(format!("{name}, us"), curve[0]);
    }
    Ok(found)
}

pub fn throughput(experiments: &Experiments, figure: &'static str, stacks: &[(&str, &str)]) -> Result<Values, String> {
    let mut found = Values::new();
    for (name, stack) in stacks {
        let curve = experiments.curve(figure, &on(stack), Benchmark::Bandwidth, (&SIZES, &Options::default()))?;
        found.insert(format!("{name}, Mbps"), curve.into_iter().fold(0.0, f64::max) * 8.0);
    }
    Ok(found)
}

fn on(stack: &str) -> Setting<'_> {
    Setting { testbed: "endapps-2006", stack, with: &[], ranks: Ranks::PAIR }
}
