//! GROMACS of endapps-2006. What the paper ran is not to be had; how GROMACS exchanged data then is known: each step, parts of
//! the positions go around a ring of all processes, half of the way, and forces back (H. J. C. Berendsen and others, 1995, the
//! paper's reference 19). E8 has the lengths of messages and their share of the run time.

use fishplate_trace::rank_file::Header;
use fishplate_trace::{Mode, Operation, RankTrace, Receive, Send, Step, Trace};

use super::super::applications::{Iteration, run_trace};
use super::super::experiments::{Experiments, Ranks, Setting, Values};
use super::applications::rpi;

/// Input, its name in the testbed, mean message in bytes (E8).
const INPUTS: [(&str, &str, u64); 3] = [
    ("DPPC", "gromacs-dppc", 91_000),
    ("VILLIN", "gromacs-villin", 375_000),
    ("POLY-CH2", "gromacs-poly-ch2", 480_000),
];
const PROCESSES: u32 = 16;
const PER_NODE: u32 = 2;
const STEPS: u32 = 2;
/// Computation of a process between two exchanges, before scaling by the testbed.
const COMPUTATION_NS: u64 = 1_000_000;

/// All steps of all ranks.
fn program(bytes: u64) -> Trace {
    Trace { ranks: (0..PROCESSES).map(|rank| rank_program(rank, bytes)).collect() }
}

fn rank_program(rank: u32, bytes: u64) -> RankTrace {
    let (next, before) = ((rank + 1) % PROCESSES, (rank + PROCESSES - 1) % PROCESSES);
    let exchange = |to, from, tag| {
        let (communicator, request, has_gaps, mode) = (0, None, false, Mode::Standard);
        let send = Send { communicator, to, tag, bytes, mode, has_gaps, request };
        let receive = Receive { communicator, from: Some(from), tag: Some(tag), bytes, has_gaps, request };
        Operation::Exchange(send, receive)
    };
    let world = Operation::Communicator { number: 0, context: 1, members: (0..PROCESSES).collect() };
    let (positions, forces) = (exchange(next, before, 1), exchange(before, next, 2));
    let step = |operation, processor_ns| Step { operation, processor_ns, idle_ns: 0 };
    let mut steps = vec![step(0, 0)];
    for _ in 0..STEPS {
        steps.extend((0..PROCESSES).map(|at| step(1 + at / (PROCESSES / 2), COMPUTATION_NS)));
    }
    steps.push(step(3, 0));
    let operations = vec![world, positions, forces, Operation::End];
    RankTrace { header: Header::synthetic(rank, PROCESSES), operations, steps, is_whole: true }
}

fn step(experiments: &Experiments, stack: &str, (program_name, bytes): (&str, u64)) -> Iteration {
    let ranks = Ranks::of(PROCESSES, PER_NODE);
    let setting = Setting { testbed: "endapps-2006", stack, with: &[], ranks };
    experiments.or_fail(run_trace(experiments, &setting, program_name, program(bytes), STEPS))
}

pub fn shares(experiments: &Experiments) -> Values {
    let share = |input| 100.0 * step(experiments, "tcp", input).share();
    INPUTS.map(|(told, name, bytes)| (format!("{told}, % of the run time"), share((name, bytes)))).into()
}

pub fn relative_improvement(experiments: &Experiments) -> Values {
    let of = |input| rpi(|stack| step(experiments, stack, input).communication_s);
    INPUTS.map(|(told, name, bytes)| (format!("{told}, RPI, %"), of((name, bytes)))).into()
}
