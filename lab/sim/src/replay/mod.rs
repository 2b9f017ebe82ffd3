//! Recorded programs on modelled machines (docs/guide/predict.md): each rank repeats the calls of its trace, with the
//! engine and the collective operations of the simulator, and computes for the recorded time.
//!
//! - `rank`: one rank goes through its trace;
//! - `requests`: active requests;
//! - `communicators`, `collective`: operations of several ranks;
//! - `processors`: which ranks compute at a time;
//! - `deadlock`, `order`: why a program does not go on;
//! - [`graph`]: programs in GOAL; [`export`]: a trace as such a program.

mod collective;
mod communicators;
mod deadlock;
pub mod export;
pub mod graph;
mod order;
mod processors;
mod rank;
mod requests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use fishplate_trace::Trace;

use crate::models::time::Time;
use crate::mpi::chain::{Chain, Piece, Spent};
use crate::mpi::log::Log;
use crate::mpi::program::{self, Mpi, Task};
use crate::mpi::rail_bytes::RailBytes;
use crate::mpi::world::World;
use crate::testbed::Machine;
use communicators::AllMembers;
use processors::Processors;

/// How long ranks compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Time that is no processor time counts too: of disks, of other threads.
    pub with_idle: bool,
    /// Computation takes this multiple of the recorded time.
    pub scale: f64,
    /// Processors that all ranks share; nothing: each has one of its own.
    pub processors: Option<u32>,
}

/// Result of a replay.
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
    /// Run time by category.
    pub path: CriticalPath,
    /// Bytes carried by rails.
    pub rails: RailBytes,
}

/// The critical path: causes of the end of the last rank, back to the start of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPath {
    /// The sum is the run time.
    pub spent: Spent,
    /// Messages on the way.
    pub messages: u64,
    /// Where it went, in order.
    pub pieces: Vec<Piece>,
}

/// Times of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankOutcome {
    /// When it came to its end.
    pub end: Time,
    /// How long it computed, or waited for a processor to do so.
    pub computed: Time,
}

/// Results collected while ranks run.
struct Found {
    ranks: Vec<RankOutcome>,
    /// By rank, if that is wanted.
    calls: Vec<CallTimes>,
    /// When the last rank so far came to its end, and why then.
    last: Chain,
}

impl Found {
    fn new(ranks: u32) -> Rc<RefCell<Found>> {
        let outcomes = vec![RankOutcome::default(); ranks as usize];
        let calls = vec![CallTimes::new(); ranks as usize];
        Rc::new(RefCell::new(Found { ranks: outcomes, calls, last: Chain::default() }))
    }

    /// A rank ended.
    fn add(&mut self, mpi: &Mpi, outcome: RankOutcome) {
        self.ranks[mpi.rank() as usize] = outcome;
        if let Some(cause) = mpi.cause().filter(|cause| cause.at() > self.last.at()) {
            self.last = cause;
        }
    }

    fn outcome(&mut self, world: &mut World, calls: u64) -> Outcome {
        let ranks = std::mem::take(&mut self.ranks);
        let run = ranks.iter().fold(Time::default(), |latest, rank| latest.later(rank.end));
        let last = &self.last;
        let path = CriticalPath { spent: last.spent(), messages: last.messages(), pieces: last.pieces() };
        Outcome { run, ranks, events: world.events(), calls, path, rails: world.take_rail_bytes() }
    }
}

impl Outcome {
    /// Time in MPI, the mean of all ranks.
    pub fn communication(&self) -> Time {
        let all: u64 = self.ranks.iter().map(|rank| rank.end.0.saturating_sub(rank.computed.0)).sum();
        Time(all / self.ranks.len().max(1) as u64)
    }
}

/// Position of a rank in its trace, for the description of a deadlock.
type Places = Rc<Vec<Cell<usize>>>;

/// Replays a trace.
///
/// # Errors
/// If the machine does not fit, or in a deadlock, with its cause or the calls that wait.
pub fn run(machine: &Machine, trace: &Arc<Trace>, computation: Computation) -> Result<Outcome, String> {
    Ok(replayed(machine, trace, computation, Wanted::Outcome)?.0)
}

/// Like [`run`], and also returns when each call of each rank began and ended: 16 bytes for each call.
///
/// # Errors
/// As [`run`].
pub fn run_with_calls(
    machine: &Machine,
    trace: &Arc<Trace>,
    computation: Computation,
) -> Result<(Outcome, Vec<CallTimes>), String> {
    let (outcome, _, calls) = replayed(machine, trace, computation, Wanted::Calls)?;
    Ok((outcome, calls))
}

/// When calls of a rank began and ended, step by step of its trace.
pub type CallTimes = Vec<[Time; 2]>;

/// Results to be collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Outcome,
    /// Also what was done message by message.
    Log,
    /// Also when calls were.
    Calls,
}

fn replayed(
    machine: &Machine,
    trace: &Arc<Trace>,
    computation: Computation,
    wanted: Wanted,
) -> Result<(Outcome, Log, Vec<CallTimes>), String> {
    let ranks = trace.ranks.len() as u32;
    if let Some(rank) = trace.ranks.iter().find(|rank| rank.has_threads_beside()) {
        return Err(format!(
            "rank {}: several of its threads were in MPI at once (MPI_THREAD_MULTIPLE): which call of one waited for \
             which of another is not recorded, so this cannot be replayed",
            rank.header.rank
        ));
    }
    let mut world = world(machine, ranks)?;
    if wanted == Wanted::Log {
        world.begin_log();
    }
    let places: Places = Rc::new(vec![Cell::new(0); ranks as usize]);
    let found = Found::new(ranks);
    let hosts = (0..ranks).map(|rank| machine.placement.node_of(rank) as u32).collect();
    let members = Rc::new(AllMembers::new(hosts));
    let processors = Processors::new(computation.processors, ranks);
    let program = |mpi: Mpi| -> Task {
        let (trace, places, found, members) = (trace.clone(), places.clone(), found.clone(), members.clone());
        let processors = processors.clone();
        Box::pin(async move {
            let number = mpi.rank() as usize;
            let mut calls = (wanted == Wanted::Calls).then(CallTimes::new);
            let (trace, machine) = (&trace.ranks[number], (computation, &processors, &members));
            let outcome = rank::replay(&mpi, trace, machine, (&places[number], calls.as_mut())).await;
            let mut found = found.borrow_mut();
            found.calls[number] = calls.unwrap_or_default();
            found.add(&mpi, outcome);
        })
    };
    let mut world =
        program::run(world, program).map_err(|deadlock| deadlock::describe(trace, &deadlock.ranks, &places))?;
    let calls = trace.ranks.iter().map(|rank| rank.steps.len() as u64).sum();
    let mut found = found.borrow_mut();
    let outcome = found.outcome(&mut world, calls);
    Ok((outcome, world.take_log(), std::mem::take(&mut found.calls)))
}

/// The world of a program with `ranks` ranks.
fn world(machine: &Machine, ranks: u32) -> Result<World, String> {
    if machine.placement.ranks() != ranks {
        return Err(format!("the program has {ranks} ranks, the machine is for {}", machine.placement.ranks()));
    }
    let mut world = machine.world()?;
    world.begin_analysis();
    Ok(world)
}
