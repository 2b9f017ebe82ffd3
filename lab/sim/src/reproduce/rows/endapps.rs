//! endapps-2006.

use super::super::experiments::{Experiments, Ranks, Setting, Values};
use super::{KIB, MIB, greatest};
use crate::suite::Benchmark;

const SIZES: [u64; 10] = [1, 64, KIB, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, MIB];
/// A stack with its name in the paper.
type Stack = (&'static str, &'static str);
pub const NATIVE: [Stack; 4] = [("TCP", "native-tcp"), ("EFSockets", "native-ef"), ("SDP", "sdp"), ("VAPI", "vapi")];
pub const MPI: [Stack; 3] = [("TCP", "tcp"), ("EFSockets", "ef-sockets"), ("InfiniBand", "mvapich2")];

pub fn latency(experiments: &Experiments, figure: &'static str, stacks: &[Stack]) -> Values {
    let of = |stack| experiments.curve(figure, &on(stack), Benchmark::Latency, &SIZES[..5])[0];
    stacks.iter().map(|(name, stack)| (format!("{name}, us"), of(stack))).collect()
}

pub fn throughput(experiments: &Experiments, figure: &'static str, stacks: &[Stack]) -> Values {
    let of = |stack| greatest(&experiments.curve(figure, &on(stack), Benchmark::Bandwidth, &SIZES)) * 8.0;
    stacks.iter().map(|(name, stack)| (format!("{name}, Mbps"), of(stack))).collect()
}

fn on(stack: &str) -> Setting<'_> {
    Setting { testbed: "endapps-2006", stack, with: &[], ranks: Ranks::PAIR }
}
