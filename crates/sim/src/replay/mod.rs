//! Recorded programs on modelled machines (docs/predict.md): each rank does again what its trace says, with the engine and
//! the collective operations of the simulator, and computes for as long as it did.
//!
//! - `rank`: one rank goes through its trace;
//! - `requests`: what is under way meanwhile;
//! - `communicators`, `collective`: operations of several ranks;
//! - `processors`: which ranks compute at a time;
//! - `deadlock`: why a program does not go on;
//! - [`graph`]: programs of others, in GOAL; [`export`]: a trace as one of these.

mod collective;
mod communicators;
mod deadlock;
pub mod export;
pub mod graph;
mod processors;
mod rank;
mod requests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use fishplate_trace::Trace;

use crate::models::time::Time;
use crate::mpi::log::Log;
use crate::mpi::program::{self, Mpi, Task};
use crate::mpi::world::World;
use crate::suite::Machine;
use crate::testbed;
use communicators::AllMembers;
use processors::Processors;

/// How long ranks compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Time that is no processor time counts too: of disks, of other threads.
    pub with_idle: bool,
    /// All of it takes so many times as long as it did.
    pub scale: f64,
    /// Processors that all ranks share; nothing: each has one of its own.
    pub processors: Option<u32>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the last rank came to its end.
    pub run: Time,
    /// By rank.
    pub ranks: Vec<RankOutcome>,
    /// Events of the simulation.
    pub events: u64,
    /// Calls that were replayed.
    pub calls: u64,
}

/// Times of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankOutcome {
    /// When it came to its end.
    pub end: Time,
    /// How long it computed, or waited for a processor to do so.
    pub computed: Time,
}

impl Outcome {
    fn of(ranks: Vec<RankOutcome>, events: u64, calls: u64) -> Outcome {
        let run = ranks.iter().fold(Time::default(), |latest, rank| latest.later(rank.end));
        Outcome { run, ranks, events, calls }
    }

    /// Time in MPI, the mean of all ranks.
    pub fn communication(&self) -> Time {
        let all: u64 = self.ranks.iter().map(|rank| rank.end.0.saturating_sub(rank.computed.0)).sum();
        Time(all / self.ranks.len().max(1) as u64)
    }
}

/// Where a rank is in its trace, for what is told of a deadlock.
type Places = Rc<Vec<Cell<usize>>>;

/// Replays a trace.
///
/// # Errors
/// When the machine does not fit, or ranks wait for ever, which is told with what they wait for.
pub fn run(machine: &Machine, trace: &Arc<Trace>, computation: Computation) -> Result<Outcome, String> {
    Ok(replayed(machine, trace, computation, false)?.0)
}

/// The same, and what was done message by message, if that is wanted.
fn replayed(
    machine: &Machine,
    trace: &Arc<Trace>,
    computation: Computation,
    logs: bool,
) -> Result<(Outcome, Log), String> {
    let ranks = trace.ranks.len() as u32;
    let (mut world, unawaited) = world(machine, ranks)?;
    if logs {
        world.begin_log();
    }
    let places: Places = Rc::new(vec![Cell::new(0); ranks as usize]);
    let found = Rc::new(RefCell::new(vec![RankOutcome::default(); ranks as usize]));
    let hosts = (0..ranks).map(|rank| machine.placement.node_of(rank) as u32).collect();
    let members = Rc::new(AllMembers::new(hosts));
    let processors = Processors::new(computation.processors, ranks);
    let program = |mpi: Mpi| -> Task {
        let (trace, places, found, members) = (trace.clone(), places.clone(), found.clone(), members.clone());
        let processors = processors.clone();
        Box::pin(async move {
            let number = mpi.rank() as usize;
            let outcome =
                rank::replay(mpi, &trace.ranks[number], (computation, &processors, &members), &places[number]).await;
            found.borrow_mut()[number] = outcome;
        })
    };
    let mut world = program::run(world, ranks, unawaited, program)
        .map_err(|deadlock| deadlock::describe(trace, &deadlock.ranks, &places))?;
    let calls = trace.ranks.iter().map(|rank| rank.steps.len() as u64).sum();
    Ok((Outcome::of(found.take(), world.events(), calls), world.take_log()))
}

/// The world of a program with so many ranks, and the longest message that its senders do not wait for.
fn world(machine: &Machine, ranks: u32) -> Result<(World, u64), String> {
    if machine.placement.ranks() != ranks {
        return Err(format!("the program has {ranks} ranks, the machine is for {}", machine.placement.ranks()));
    }
    let stack = machine.testbed.stack(&machine.stack)?;
    let world = testbed::world(&machine.testbed, stack, &machine.placement, machine.seed)?;
    Ok((world, stack.unawaited_bytes()))
}
