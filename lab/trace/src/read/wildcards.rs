//! Propagates the result of a receive from the call that completes it to the call that posts it: source and tag if posted
//! with wildcards, and whether it was cancelled.

use rustc_hash::FxHashMap;

use super::RankTrace;
use crate::operation::{Operation, Receive, Slot};

/// Replaces wildcards of receives by the source and tag of their message, and removes cancelled requests.
pub fn resolve(trace: &mut RankTrace) {
    let is_open = |operation: &Operation| match operation {
        Operation::Wait(completed) => completed.iter().any(|one| one.is_cancelled),
        operation => receive(operation).is_some_and(is_wild),
    };
    if !trace.operations.iter().any(is_open) {
        return;
    }
    let mut found = Found { places: FxHashMap::default(), open: FxHashMap::default() };
    for at in 0..trace.steps.len() {
        match &trace.operations[trace.steps[at].operation as usize] {
            Operation::Wait(completed) => {
                let completed = completed.clone();
                for one in &completed {
                    match (found.open.remove(&one.request), one.source) {
                        (Some(step), _) if one.is_cancelled => found.place(trace, step, Operation::Wait(Vec::new())),
                        (Some(step), Some(source)) => found.resolve(trace, step, source),
                        _ => {}
                    }
                }
                if completed.iter().any(|one| one.is_cancelled) {
                    let left = completed.into_iter().filter(|one| !one.is_cancelled).collect();
                    found.place(trace, at, Operation::Wait(left));
                }
            }
            operation => {
                if let Some(request) = request(operation) {
                    found.open.insert(request, at);
                }
            }
        }
    }
}

struct Found {
    /// Indexes of the operations created by replacement.
    places: FxHashMap<Operation, u32>,
    /// Steps that posted requests that are not complete yet.
    open: FxHashMap<Slot, usize>,
}

impl Found {
    fn resolve(&mut self, trace: &mut RankTrace, step: usize, (from, tag): (u32, i32)) {
        let mut operation = trace.operations[trace.steps[step].operation as usize].clone();
        if let Operation::Receive(receive) | Operation::Exchange(_, receive) = &mut operation {
            (receive.from, receive.tag) = (Some(from), Some(tag));
        }
        self.place(trace, step, operation);
    }

    /// Replaces the operation of a step.
    fn place(&mut self, trace: &mut RankTrace, step: usize, operation: Operation) {
        let place = *self.places.entry(operation).or_insert_with_key(|operation| {
            trace.operations.push(operation.clone());
            trace.operations.len() as u32 - 1
        });
        trace.steps[step].operation = place;
    }
}

fn receive(operation: &Operation) -> Option<&Receive> {
    match operation {
        Operation::Receive(receive) | Operation::Exchange(_, receive) => Some(receive),
        _ => None,
    }
}

fn request(operation: &Operation) -> Option<Slot> {
    match operation {
        Operation::Send(send) | Operation::Exchange(send, _) => send.request,
        Operation::Receive(receive) => receive.request,
        _ => None,
    }
}

fn is_wild(receive: &Receive) -> bool {
    receive.from.is_none() || receive.tag.is_none()
}
