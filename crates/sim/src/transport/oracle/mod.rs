//! The invariants, one file each. An oracle sees everything that happens and says when it must not have.

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
use super::memory::{Memory, Trespass};

/// What has happened.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// A user hears of the end of an operation.
    Completed(HostId, &'a Completion),
    /// A driver touches memory that is not lent to it.
    Trespassed(HostId, Trespass),
    /// Payload of messages without a receive is kept.
    Held {
        /// Where.
        host: HostId,
        /// For whom.
        peer: HostId,
        /// What that peer was granted.
        granted_bytes: u64,
    },
    /// A host judges that a peer breaks the protocol.
    Blamed(HostId, HostId, &'a str),
    /// A host gives a peer up.
    Lost(HostId, HostId),
    /// Something comes over a connection after its sender has said that nothing does.
    Strayed {
        /// From whom.
        from: HostId,
        /// To whom.
        to: HostId,
    },
    /// A connection ends that both sides have let go.
    LetGo {
        /// At whose end.
        host: HostId,
        /// Who is at the other.
        peer: HostId,
        /// Nothing waits for acknowledgement.
        is_drained: bool,
    },
    /// A connection that was to go is still there in the end.
    Lingers {
        /// At whose end.
        host: HostId,
        /// Who is at the other.
        peer: HostId,
    },
    /// Nothing moves any more, and nothing should have to: everything has had its time.
    Settled,
    /// More events than any run needs.
    Endless,
    /// All that was to happen has.
    Finished,
}

/// What oracles may look at.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// What was asked for.
    pub ledger: &'a Ledger,
    /// Memory of each host.
    pub memories: &'a [Memory],
    /// Hosts whose engines have nothing left to do.
    pub quiet: &'a [bool],
}

/// Watches over one invariant.
pub trait Oracle {
    /// What the invariant is called.
    fn name(&self) -> &'static str;

    /// Something has happened. What is wrong with it, if anything.
    fn see(&mut self, seen: Seen<'_>, scene: Scene<'_>) -> Result<(), String>;
}

/// An invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the oracle.
    pub oracle: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.oracle, self.what)
    }
}

/// One of each.
pub fn all() -> Vec<Box<dyn Oracle>> {
    vec![
        Box::new(fault_isolation::Conduct),
        Box::new(exactly_once::Once),
        Box::new(send_buffer_use::Lease),
        Box::new(data_integrity::Content),
        Box::new(matching_order::Order::default()),
        Box::new(memory_bounds::Bounds),
        Box::new(liveness::Progress),
    ]
}

/// `Err` with this text unless it holds.
fn must(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
