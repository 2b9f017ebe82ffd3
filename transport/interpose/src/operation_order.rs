//! The order of operations on one communicator: limits the operations in flight, and orders their cluster collectives.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::sync::lock;

/// Limit of the operations in flight on one communicator; later ones start when earlier ones are complete. Each operation has
/// its own range of tags, and all ranges fit in the tags that MPI guarantees (32767).
const WINDOW: u64 = 256;

#[derive(Default)]
pub struct OperationOrder(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    /// The operation that may start cluster collectives: all ranks of a cluster must start these in one order.
    cluster_collectives: u64,
    in_flight: BTreeSet<u64>,
}

/// The place of one operation in the order.
pub struct Ticket {
    number: u64,
    passed: bool,
}

impl Ticket {
    /// Slot in the window: distinguishes operations in flight; less than [`WINDOW`].
    pub fn window_slot(&self) -> i32 {
        (self.number % WINDOW) as i32
    }

    /// Whether the next operation may start collectives of its cluster.
    pub fn is_passed(&self) -> bool {
        self.passed
    }
}

impl OperationOrder {
    pub fn ticket(&self) -> Ticket {
        let mut state = lock(&self.0);
        let number = state.next;
        state.next += 1;
        state.in_flight.insert(number);
        Ticket { number, passed: false }
    }

    /// Whether an operation is within the window that begins with the first incomplete one.
    pub fn may_start(&self, ticket: &Ticket) -> bool {
        lock(&self.0).in_flight.first().is_none_or(|first| ticket.number < first + WINDOW)
    }

    /// Whether an operation may start collectives of its cluster.
    pub fn may_start_cluster_collectives(&self, ticket: &Ticket) -> bool {
        lock(&self.0).cluster_collectives == ticket.number
    }

    /// To be called once an operation has started all its cluster collectives: the next operation may start its own.
    pub fn pass(&self, ticket: &mut Ticket) {
        let mut state = lock(&self.0);
        if state.cluster_collectives == ticket.number {
            state.cluster_collectives += 1;
            ticket.passed = true;
        }
    }

    /// To be called when an operation is complete or abandoned.
    pub fn retire(&self, ticket: &Ticket) {
        lock(&self.0).in_flight.remove(&ticket.number);
    }
}
