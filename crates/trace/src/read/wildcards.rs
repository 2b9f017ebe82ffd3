//! Receives from any rank or with any tag: what they have got is known where they were waited for.

use rustc_hash::FxHashMap;

use super::RankTrace;
use crate::operation::{Operation, Receive, Slot};

/// Gives receives the source and tag that they have got.
pub fn resolve(trace: &mut RankTrace) {
    if !trace.operations.iter().any(|operation| receive(operation).is_some_and(is_wild)) {
        return;
    }
    let mut found = Found { places: FxHashMap::default(), open: FxHashMap::default() };
    for at in 0..trace.steps.len() {
        match &trace.operations[trace.steps[at].operation as usize] {
            Operation::Wait(completed) => {
                let sources = completed.iter().filter_map(|one| Some((one.request, one.source?)));
                for (request, source) in sources.collect::<Vec<_>>() {
                    found.resolve(trace, request, source);
                }
            }
            operation => {
                if let Some(Receive { request: Some(request), .. }) = receive(operation).filter(|one| is_wild(one)) {
                    found.open.insert(*request, at);
                }
            }
        }
    }
}

struct Found {
    /// Of operations that are needed with a source.
    places: FxHashMap<Operation, u32>,
    /// Steps that have posted what is not complete yet.
    open: FxHashMap<Slot, usize>,
}

impl Found {
    fn resolve(&mut self, trace: &mut RankTrace, request: Slot, (from, tag): (u32, i32)) {
        let Some(step) = self.open.remove(&request) else { return };
        let mut operation = trace.operations[trace.steps[step].operation as usize].clone();
        if let Operation::Receive(receive) | Operation::Exchange(_, receive) = &mut operation {
            (receive.from, receive.tag) = (Some(from), Some(tag));
        }
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

fn is_wild(receive: &Receive) -> bool {
    receive.from.is_none() || receive.tag.is_none()
}
