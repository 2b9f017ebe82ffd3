//! Messages found by matching probes (MPI_Mprobe), which only MPI_Mrecv can receive from then on.

use rustc_hash::FxHashMap;

use super::handles::Id;

/// Limit of the number of tracked messages.
const MAX_MESSAGES: usize = 1 << 16;

/// A message found by a probe and not received yet.
#[derive(Clone, Copy, Debug)]
pub struct Probed {
    /// Identifies the message among requests and probed messages.
    pub id: Id,
    /// Index of the communicator.
    pub communicator: usize,
    /// Source rank in the communicator.
    pub from: i32,
    pub tag: i32,
    pub bytes: u64,
    /// Stream and number, for events.
    pub number: Option<(u64, u64)>,
}

#[derive(Default)]
pub struct ProbedMessages {
    known: FxHashMap<usize, Probed>,
}

impl ProbedMessages {
    pub fn add(&mut self, handle: usize, message: Probed) {
        if self.known.len() < MAX_MESSAGES || self.known.contains_key(&handle) {
            self.known.insert(handle, message);
        }
    }

    /// Removes a message that is received.
    pub fn take(&mut self, handle: usize) -> Option<Probed> {
        self.known.remove(&handle)
    }
}
