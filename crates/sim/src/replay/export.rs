//! A trace as a program in GOAL: messages and computation, collective operations expanded as MPI libraries do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use fishplate_trace::Trace;
use fishplate_trace::goal::{Action, Program, Task};

use super::{Computation, Wanted, replayed};
use crate::mpi::log::Entry;
use crate::mpi::program::Tag;
use crate::mpi::rank::Request;
use crate::suite::Machine;

/// Makes the program. The machine matters only where collective operations go on beside others: for their order.
///
/// # Errors
/// When ranks wait for ever, or there is something that GOAL has no words for.
pub fn goal(machine: &Machine, trace: &Arc<Trace>, computation: Computation) -> Result<Program, String> {
    let (_, log, _) = replayed(machine, trace, computation, Wanted::Log)?;
    let mut tags = Tags::default();
    let rank = |(number, entries): (usize, Vec<Entry>)| {
        graph(&entries, &mut tags).map_err(|what| format!("rank {number}: GOAL has no words for {what}"))
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

/// The operations of a rank: each after what was waited for before, and messages in the order in which they were posted.
fn graph(entries: &[Entry], tags: &mut Tags) -> Result<Vec<Task>, &'static str> {
    let mut tasks: Vec<Task> = Vec::new();
    // What was waited for, or computed, last; and what was posted since.
    let (mut before, mut posted): (Vec<u32>, Option<u32>) = (Vec::new(), None);
    let mut of_request: BTreeMap<u32, u32> = BTreeMap::new();
    for entry in entries {
        let (action, request) = match entry {
            Entry::Wait(requests) => {
                let waited: Vec<u32> = requests.iter().filter_map(|Request(one)| of_request.remove(one)).collect();
                if !waited.is_empty() {
                    before = waited;
                }
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
        tasks.push(Task { action, requires: before.clone(), irequires: posted.into_iter().collect() });
        match request {
            Some(Request(request)) => {
                of_request.insert(*request, place);
                posted = Some(place);
            }
            None => (before, posted) = (vec![place], None),
        }
    }
    Ok(tasks)
}
