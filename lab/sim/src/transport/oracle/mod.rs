//! The invariants, one file each. An oracle sees everything that happens and says when it must not have.

mod atomic_operations;
mod data_integrity;
mod exactly_once;
mod fault_isolation;
mod liveness;
mod matching_order;
mod memory_bounds;
mod send_buffer_use;

use std::fmt;

use fishplate_engine::Completion;

use super::ids::HostId;
use super::ledger::Ledger;
use super::memory::{InvalidAccess, Memory};

/// An event observed by oracles.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A user takes the completion of an operation.
    Completed(HostId, &'a Completion),
    /// A driver accesses memory that belongs to the user.
    InvalidAccess(HostId, InvalidAccess),
    /// Payload of unexpected messages is kept.
    Held {
        host: HostId,
        peer: HostId,
        /// Credit granted to the peer.
        granted_bytes: u64,
        /// Early data requested of it beyond.
        requested_bytes: u64,
        /// Most that may be.
        may_request: u64,
    },
    /// A host reports that a peer violates the protocol.
    ProtocolViolation(HostId, HostId, &'a str),
    /// A host gives a peer up.
    Lost(HostId, HostId),
    /// A frame that is counted arrives over a connection after its sender's LEAVE.
    SentAfterLeave { from: HostId, to: HostId },
    /// A connection ends that both sides have retired.
    Retired {
        host: HostId,
        /// The host at the other end.
        peer: HostId,
        /// No frame awaits acknowledgement.
        is_drained: bool,
    },
    /// The retirement of a connection is not complete at the end of the run.
    NotRetired {
        host: HostId,
        /// The host at the other end.
        peer: HostId,
    },
    /// A host has sent as many messages as it could to one that does not receive.
    Flooded {
        from: HostId,
        to: HostId,
        /// Messages.
        sent: u64,
        /// Messages for which there is credit while none waits.
        may_wait: u64,
    },
    /// No event is left: everything that can complete is complete.
    Settled,
    /// More events than any run needs.
    Endless,
    /// The run is over.
    Finished,
}

/// The state visible to oracles.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The commands issued.
    pub ledger: &'a Ledger,
    /// Memory of each host.
    pub memories: &'a [Memory],
    /// Hosts whose engines are idle.
    pub quiet: &'a [bool],
}

/// Is shown each observation in turn. An error says how one violates the invariant.
type Observe = dyn FnMut(Observation<'_>, Scene<'_>) -> Result<(), String>;

/// Checks the invariant of this name.
pub struct Oracle {
    pub name: &'static str,
    pub observe: Box<Observe>,
}

/// An invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the oracle.
    pub oracle: &'static str,
    /// Describes the violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.oracle, self.what)
    }
}

/// One of each.
pub fn all() -> Vec<Oracle> {
    let mut order = matching_order::Order::default();
    let mut counts = atomic_operations::Counts::default();
    let mut progress = liveness::Progress::default();
    let all: [(&str, Box<Observe>); 8] = [
        ("conduct", Box::new(fault_isolation::observe)),
        ("completes-once", Box::new(exactly_once::observe)),
        ("lease", Box::new(send_buffer_use::observe)),
        ("content", Box::new(data_integrity::observe)),
        ("matches-in-order", Box::new(move |observation, scene| order.observe(observation, scene))),
        ("counts", Box::new(move |observation, scene| counts.observe(observation, scene))),
        ("bounds", Box::new(memory_bounds::observe)),
        ("progress", Box::new(move |observation, scene| progress.observe(observation, scene))),
    ];
    all.map(|(name, observe)| Oracle { name, observe }).into()
}

/// `Err` with this text unless it holds.
fn must(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
