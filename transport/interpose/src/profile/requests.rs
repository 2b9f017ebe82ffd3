//! Tracks active and persistent requests.

use rustc_hash::FxHashMap;

use super::handles::Id;
use super::message_numbers::Side;

/// Limit of the number of tracked requests; further ones are counted as lost.
const MAX_REQUESTS: usize = 1 << 20;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of the call that created it.
    pub call: usize,
    /// Row of the call site that created it.
    pub site: usize,
    /// Its operations; an exchange has two.
    pub operations: [Option<Operation>; 2],
    /// Whether it is persistent.
    pub is_persistent: bool,
    /// When it was started; `None` while a persistent request is inactive.
    pub started: Option<u64>,
    /// Whether MPI_Cancel was called for it.
    pub is_cancelled: bool,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Sends.
    Send {
        /// Place of the communicator.
        communicator: usize,
        /// Rank in it.
        to: i32,
        /// Its tag.
        tag: i32,
        /// How much.
        bytes: u64,
        /// Stream and number, for events.
        number: Option<(u64, u64)>,
    },
    /// Receives. Negative source and tag are wildcards.
    Receive {
        /// Place of the communicator.
        communicator: usize,
        /// Rank in it.
        from: i32,
        /// Its tag.
        tag: i32,
        /// Stream and number, if both are known when it is posted.
        number: Option<(u64, u64)>,
        /// Size of the buffer, if the MPI does not report the size of the message.
        room: Option<u64>,
    },
    /// A collective operation.
    Collective {
        /// Place of the communicator.
        communicator: usize,
        /// Whether this rank is its root.
        is_root: bool,
        /// Bytes sent and received.
        bytes: [u64; 2],
        /// Number on the communicator.
        number: u64,
    },
    /// Any other operation.
    Other,
}

impl Operation {
    /// Side, stream and number of its message, if it has one.
    pub fn number(&self) -> Option<(Side, u64, u64)> {
        match *self {
            Operation::Send { number, .. } => number.map(|(stream, number)| (Side::Sender, stream, number)),
            Operation::Receive { number, .. } => number.map(|(stream, number)| (Side::Receiver, stream, number)),
            Operation::Collective { .. } | Operation::Other => None,
        }
    }
}

/// The table of requests.
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

    /// A tracked request.
    pub fn get(&mut self, id: Id) -> Option<&mut Request> {
        self.known.get_mut(&id)
    }

    /// All active requests.
    pub fn under_way(&mut self) -> impl Iterator<Item = &mut Request> {
        self.known.values_mut().filter(|request| request.started.is_some())
    }

    /// Starts a persistent request.
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

    /// Removes a freed request.
    pub fn free(&mut self, id: Id) {
        if self.known.remove(&id).is_some_and(|request| request.started.is_some()) {
            self.active -= 1;
        }
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
