//! Messages that matching probes have found: nobody else can receive them from then on.

use rustc_hash::FxHashMap;

use super::handles::Id;

/// Messages that are known at once.
const MAX_MESSAGES: usize = 1 << 16;

/// A message that was found, and not received yet.
#[derive(Clone, Copy, Debug)]
pub struct Probed {
    /// What tells it from requests, and from other such messages.
    pub id: Id,
    /// Place of the communicator.
    pub communicator: usize,
    /// Who has sent it: rank in the communicator.
    pub from: i32,
    /// Its tag.
    pub tag: i32,
    /// How much it is.
    pub bytes: u64,
    /// Stream and number, for events.
    pub number: Option<(u64, u64)>,
}

/// All of them, by handle.
#[derive(Default)]
pub struct ProbedMessages {
    known: FxHashMap<usize, Probed>,
}

impl ProbedMessages {
    /// One was found.
    pub fn add(&mut self, handle: usize, message: Probed) {
        if self.known.len() < MAX_MESSAGES || self.known.contains_key(&handle) {
            self.known.insert(handle, message);
        }
    }

    /// One is received, which happens only once.
    pub fn take(&mut self, handle: usize) -> Option<Probed> {
        self.known.remove(&handle)
    }
}
