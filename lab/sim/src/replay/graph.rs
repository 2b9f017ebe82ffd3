//! Programs whose operations come after each other as a graph says (GOAL).

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use fishplate_trace::goal::{Action, Program, Task as Operation};

use super::{Found, Outcome, RankOutcome, deadlock};
use crate::models::time::Time;
use crate::mpi::program::{self, Mpi, Task};
use crate::testbed::Machine;

/// Runs a program; `scale`: how many times as long it computes.
///
/// # Errors
/// If the machine does not fit, or in a deadlock, with the operations that wait.
pub fn run(machine: &Machine, program: &Arc<Program>, scale: f64) -> Result<Outcome, String> {
    let ranks = program.ranks.len() as u32;
    let world = super::world(machine, ranks)?;
    let found = Found::new(ranks);
    let left = Rc::new(vec![Cell::new(None); ranks as usize]);
    let each = |mpi: Mpi| -> Task {
        let (program, found, left) = (program.clone(), found.clone(), left.clone());
        Box::pin(async move {
            let rank = mpi.rank() as usize;
            let mut execution = Execution::new(&mpi, &program.ranks[rank], scale);
            poll_fn(|context| execution.poll(context, &left[rank])).await;
            found.borrow_mut().add(&mpi, RankOutcome { end: mpi.time(), computed: execution.computed });
        })
    };
    let mut world = program::run(world, each).map_err(|deadlock| describe(program, &deadlock.ranks, &left))?;
    let calls = program.ranks.iter().map(|rank| rank.len() as u64).sum();
    let outcome = found.borrow_mut().outcome(&mut world, calls);
    Ok(outcome)
}

/// A rank's operations under way.
struct Execution<'a> {
    mpi: &'a Mpi,
    operations: &'a [Operation],
    scale: f64,
    computed: Time,
    /// Number of incomplete dependencies of each operation.
    missing: Vec<u32>,
    /// Operations that wait for each to be complete, and to be started.
    after_end: Vec<Vec<u32>>,
    after_start: Vec<Vec<u32>>,
    startable: VecDeque<u32>,
    running: Vec<(u32, Task)>,
    left: usize,
    /// Messages that were started, and those of them that were posted: in one order, as they share the core.
    started: u64,
    posted: Rc<Cell<u64>>,
}

impl<'a> Execution<'a> {
    fn new(mpi: &'a Mpi, operations: &'a [Operation], scale: f64) -> Self {
        let mut after_end = vec![Vec::new(); operations.len()];
        let mut after_start = after_end.clone();
        for (place, operation) in (0..).zip(operations) {
            operation.requires.iter().for_each(|before| after_end[*before as usize].push(place));
            operation.irequires.iter().for_each(|before| after_start[*before as usize].push(place));
        }
        let missing: Vec<u32> =
            operations.iter().map(|one| (one.requires.len() + one.irequires.len()) as u32).collect();
        let startable = (0..operations.len() as u32).filter(|place| missing[*place as usize] == 0).collect();
        let (running, left) = (Vec::new(), operations.len());
        let computed = Time::default();
        let (started, posted) = (0, Rc::default());
        Execution {
            mpi,
            operations,
            scale,
            computed,
            missing,
            after_end,
            after_start,
            startable,
            running,
            left,
            started,
            posted,
        }
    }

    /// Executes all ready operations. `waiting`: an active operation, for the description of a deadlock.
    fn poll(&mut self, context: &mut Context<'_>, waiting: &Cell<Option<u32>>) -> Poll<()> {
        loop {
            while let Some(place) = self.startable.pop_front() {
                let task = self.task(place);
                self.running.push((place, task));
                self.release(place, false);
            }
            let mut done = Vec::new();
            self.running.retain_mut(|(place, task)| {
                let is_over = task.as_mut().poll(context).is_ready();
                if is_over {
                    done.push(*place);
                }
                !is_over
            });
            self.left -= done.len();
            if done.is_empty() {
                // If operations are left and none is active, they wait for each other.
                waiting.set(self.running.first().map(|(place, _)| *place));
                return if self.left == 0 { Poll::Ready(()) } else { Poll::Pending };
            }
            done.into_iter().for_each(|place| self.release(place, true));
        }
    }

    /// Those that wait for one that has started, or is complete.
    fn release(&mut self, place: u32, is_complete: bool) {
        let waiting = if is_complete { &mut self.after_end } else { &mut self.after_start };
        for other in std::mem::take(&mut waiting[place as usize]) {
            let missing = &mut self.missing[other as usize];
            *missing -= 1;
            if *missing == 0 {
                self.startable.push_back(other);
            }
        }
    }

    fn task(&mut self, place: u32) -> Task {
        let (mpi, posted) = (self.mpi.clone(), self.posted.clone());
        let action = self.operations[place as usize].action;
        self.started += u64::from(!matches!(action, Action::Compute(_)));
        let is_posted = move |request| {
            posted.set(posted.get() + 1);
            request
        };
        match action {
            Action::Compute(ns) => {
                let time = Time::ns(ns as f64 * self.scale);
                self.computed = self.computed + time;
                // Messages that were started before are on their way before.
                let (before, posted) = (self.started, self.posted.clone());
                Box::pin(async move {
                    poll_fn(|_| if posted.get() >= before { Poll::Ready(()) } else { Poll::Pending }).await;
                    mpi.compute(time).await;
                    // Other operations may have waited for this core to poll the network.
                    mpi.progress();
                })
            }
            Action::Send { bytes, to, tag } => Box::pin(async move {
                let request = is_posted(mpi.isend(to, tag.into(), bytes).await);
                mpi.wait(request).await;
            }),
            Action::Receive { bytes, from, tag } => Box::pin(async move {
                let request = is_posted(mpi.irecv(from, tag.into(), bytes).await);
                mpi.wait(request).await;
            }),
        }
    }
}

/// Ranks that wait for ever, and for what.
fn describe(program: &Program, ranks: &[u32], waiting: &[Cell<Option<u32>>]) -> String {
    let one = |rank: &u32| {
        let operations = &program.ranks[*rank as usize];
        match waiting[*rank as usize].get().map(|place| operations[place as usize].action) {
            None => format!("rank {rank}: its operations wait for each other"),
            Some(Action::Compute(_)) => format!("rank {rank} computes"),
            Some(Action::Send { to, tag, .. }) => format!("rank {rank} sends to rank {to} with tag {tag}"),
            Some(Action::Receive { from, tag, .. }) => format!("rank {rank} receives from rank {from} with tag {tag}"),
        }
    };
    deadlock::listed(ranks, "", one)
}
