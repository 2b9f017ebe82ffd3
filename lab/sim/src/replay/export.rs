//! A trace as a program in GOAL: messages and computation, collective operations expanded as MPI libraries do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use fishplate_trace::Trace;
use fishplate_trace::goal::{Action, Program, Task};

use super::{Computation, Wanted, replayed};
use crate::mpi::log::{Entry, Strand};
use crate::mpi::program::Tag;
use crate::mpi::rank::Request;
use crate::testbed::Machine;

/// Creates the program. The machine only determines the order of concurrent collective operations.
///
/// # Errors
/// When ranks wait for ever, or GOAL cannot express a call.
pub fn goal(machine: &Machine, trace: &Arc<Trace>, computation: Computation) -> Result<Program, String> {
    let (_, log, _) = replayed(machine, trace, computation, Wanted::Log)?;
    let mut tags = Tags::default();
    let rank = |(number, entries): (usize, Vec<(Strand, Entry)>)| {
        graph(&entries, &mut tags).map_err(|what| format!("rank {number}: GOAL cannot express {what}"))
    };
    Ok(Program { ranks: log.into_iter().enumerate().map(rank).collect::<Result<_, String>>()? })
}

/// Tags of 32 bits, for those of communicators and programs together.
#[derive(Default)]
struct Tags {
    known: BTreeMap<Tag, u32>,
}

impl Tags {
    fn of(&mut self, tag: Tag) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(tag).or_insert(next)
    }
}

/// Dependencies of the next operation of a strand.
#[derive(Clone, Default)]
struct Before {
    /// The last computations or completed operations.
    complete: Vec<u32>,
    /// The message that was posted since.
    posted: Option<u32>,
}

impl Before {
    /// These are waited for.
    fn wait(&mut self, waited: &[u32], tasks: &[Task]) {
        // Operations posted since depend on those that were complete then.
        let is_since = |one: &u32| tasks[*one as usize].requires == self.complete;
        if waited.iter().any(is_since) {
            self.complete.clear();
        }
        self.complete.extend(waited);
        self.complete.sort_unstable();
        self.complete.dedup();
    }
}

/// The operations of a rank: each after what was waited for before, and messages in the order in which they were posted.
/// Collective operations beside the program begin after what it has waited for then.
fn graph(entries: &[(Strand, Entry)], tags: &mut Tags) -> Result<Vec<Task>, &'static str> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut strands: BTreeMap<Strand, Before> = BTreeMap::new();
    let mut of_request: BTreeMap<u32, u32> = BTreeMap::new();
    for (strand, entry) in entries {
        let program = strands.entry(Strand::default()).or_default().clone();
        let before = strands.entry(*strand).or_insert(program);
        let (action, request) = match entry {
            Entry::Wait(requests) => {
                let of = |Request(request): &Request| of_request.get(request).copied();
                before.wait(&requests.iter().filter_map(of).collect::<Vec<_>>(), &tasks);
                continue;
            }
            Entry::Join(other) => {
                let waited = strands.remove(other).unwrap_or_default().complete;
                strands.entry(*strand).or_default().wait(&waited, &tasks);
                continue;
            }
            Entry::Answer { receive: Request(receive), to, tag } => {
                // Whatever the program does meanwhile.
                let action = Action::Send { bytes: 0, to: *to, tag: tags.of(*tag) };
                let requires = of_request.get(receive).copied().into_iter().collect();
                tasks.push(Task { action, requires, irequires: Vec::new() });
                continue;
            }
            Entry::Compute(time) => (Action::Compute(time.0 / 1000), None),
            Entry::Send { request, to, tag, bytes } => {
                (Action::Send { bytes: *bytes, to: *to, tag: tags.of(*tag) }, Some(request))
            }
            Entry::Receive { request, from: Some(from), tag, bytes } => {
                (Action::Receive { bytes: *bytes, from: *from, tag: tags.of(*tag) }, Some(request))
            }
            Entry::Receive { from: None, .. } => return Err("a receive from any rank that was never complete"),
            Entry::OneSided => return Err("one-sided operations"),
        };
        let place = tasks.len() as u32;
        tasks.push(Task { action, requires: before.complete.clone(), irequires: before.posted.into_iter().collect() });
        match request {
            Some(Request(request)) => {
                of_request.insert(*request, place);
                before.posted = Some(place);
            }
            None => *before = Before { complete: vec![place], posted: None },
        }
    }
    Ok(tasks)
}
