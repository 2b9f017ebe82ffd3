//! Tracks active and persistent requests, and messages that matching probes have found.

use rustc_hash::FxHashMap;

use super::handles::Id;
use super::message_numbers::Side;

/// Limit of the number of tracked requests; further ones are counted as lost.
const MAX_REQUESTS: usize = 1 << 20;

/// A message between two ranks.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Place of the communicator.
    pub communicator: usize,
    /// The other rank, in the communicator.
    pub peer: i32,
    pub tag: i32,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// Place of the communicator.
    pub communicator: usize,
    pub is_root: bool,
    /// Bytes that this rank sends.
    pub sent: u64,
    pub received: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of the call that created it.
    pub call: usize,
    /// Row of the call site that created it.
    pub site: usize,
    /// Its operations; an exchange has two.
    pub operations: [Option<Operation>; 2],
    pub is_persistent: bool,
    /// When it was started; `None` while a persistent request is inactive.
    pub started: Option<u64>,
    /// Whether MPI_Cancel was called for it.
    pub is_cancelled: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Send {
        message: Message,
        /// Stream and number, for events.
        number: Option<(u64, u64)>,
    },
    /// Negative source and tag are wildcards.
    Receive {
        /// Place of the communicator.
        communicator: usize,
        /// Rank in it.
        from: i32,
        tag: i32,
        /// Stream and number, if both are known when it is posted.
        number: Option<(u64, u64)>,
        /// Size of the buffer, if the MPI does not report the size of the message.
        room: Option<u64>,
    },
    Collective {
        collective: Collective,
        /// Number on the communicator.
        number: u64,
    },
    Other,
}

impl Operation {
    /// Side, stream and number of its message, if it has one.
    pub fn number(&mut self) -> Option<(Side, &mut (u64, u64))> {
        match self {
            Operation::Send { number, .. } => Some((Side::Sender, number.as_mut()?)),
            Operation::Receive { number, .. } => Some((Side::Receiver, number.as_mut()?)),
            Operation::Collective { .. } | Operation::Other => None,
        }
    }
}

#[derive(Default)]
pub struct Requests {
    known: FxHashMap<Id, Request>,
    active: usize,
}

impl Requests {
    /// Number of active requests.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Adds a request. False if the table is full.
    pub fn insert(&mut self, id: Id, request: Request) -> bool {
        if self.known.len() == MAX_REQUESTS {
            return false;
        }
        self.active += usize::from(request.started.is_some());
        self.known.insert(id, request);
        true
    }

    pub fn get(&mut self, id: Id) -> Option<&mut Request> {
        self.known.get_mut(&id)
    }

    pub fn under_way(&mut self) -> impl Iterator<Item = &mut Request> {
        self.known.values_mut().filter(|request| request.started.is_some())
    }

    pub fn start(&mut self, id: Id, now: u64) -> Option<&mut Request> {
        let request = self.known.get_mut(&id)?;
        self.active += usize::from(request.started.is_none());
        (request.started, request.is_cancelled) = (Some(now), false);
        Some(request)
    }

    /// Completes a request. Persistent requests stay in the table.
    pub fn complete(&mut self, id: Id) -> Option<Request> {
        let request = self.known.get_mut(&id)?;
        let was = *request;
        was.started?;
        self.active -= 1;
        if was.is_persistent {
            request.started = None;
        } else {
            self.known.remove(&id);
        }
        Some(was)
    }

    pub fn free(&mut self, id: Id) {
        if self.known.remove(&id).is_some_and(|request| request.started.is_some()) {
            self.active -= 1;
        }
    }
}

/// Limit of the number of tracked messages.
const MAX_PROBED: usize = 1 << 16;

/// A message found by a matching probe (MPI_Mprobe), which only MPI_Mrecv can receive from then on.
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
        if self.known.len() < MAX_PROBED || self.known.contains_key(&handle) {
            self.known.insert(handle, message);
        }
    }

    /// Removes a message that is received.
    pub fn take(&mut self, handle: usize) -> Option<Probed> {
        self.known.remove(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(is_persistent: bool) -> Request {
        let started = (!is_persistent).then_some(5);
        Request {
            call: 1,
            site: 2,
            operations: [Some(Operation::Other), None],
            is_persistent,
            started,
            is_cancelled: false,
        }
    }

    #[test]
    fn a_persistent_request_can_be_completed_once_for_each_start() {
        let mut requests = Requests::default();
        assert!(requests.insert(8, request(true)));
        assert!(requests.complete(8).is_none());
        for now in [10, 20] {
            assert!(requests.start(8, now).is_some());
            assert_eq!(requests.active(), 1);
            assert_eq!(requests.complete(8).unwrap().started, Some(now));
            assert!(requests.complete(8).is_none());
        }
        requests.start(8, 30);
        requests.free(8);
        assert_eq!(requests.active(), 0);
    }
}
