//! Atomic operations of an endpoint.

use fishplate_engine::{Atomic, AtomicOperation, AtomicRequest, Datatype, Extent, Payload, Remote};
use ofi_abi::{FI_EINVAL, FI_EMSGSIZE, FI_EOPNOTSUPP};

use crate::endpoint::{Endpoint, Report};
use crate::errno::{Errno, Outcome};

/// The kinds of calls, each with its own set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `fi_atomic`: without a result.
    Atomic,
    /// `fi_fetch_atomic`: the result is the old values.
    Fetch,
    /// `fi_compare_atomic`: with comparands; the result is the old values.
    Compare,
}

impl Call {
    /// The operation `op` on one element of type `datatype`, as libfabric numbers both.
    pub fn operation(self, datatype: u32, op: u32) -> Outcome<Atomic> {
        let not_there = Errno(FI_EOPNOTSUPP);
        let operation = *AtomicOperation::ALL.get(op as usize).ok_or(not_there)?;
        let datatype = *Datatype::ALL.iter().find(|known| **known as u32 == datatype).ok_or(not_there)?;
        let has = match self {
            Call::Atomic => !operation.compares() && operation != AtomicOperation::Read,
            Call::Fetch => !operation.compares(),
            Call::Compare => operation.compares(),
        };
        Atomic::new(operation, datatype, self != Call::Atomic, 1).filter(|_| has).ok_or(not_there)
    }
}

pub struct Operation {
    /// Address vector index of the peer.
    pub peer: u64,
    /// Start of the array in the peer's memory.
    pub remote: Remote,
    /// The operation, for one element.
    pub what: Atomic,
    /// Number of elements.
    pub count: usize,
    /// Local operands; meaningless for a read.
    pub operands: Payload,
    /// Local comparands; empty for operations without.
    pub comparands: Payload,
    /// Local buffer for the result; empty for operations without.
    pub result: Payload,
    pub report: Report,
    /// The application's name for it.
    pub context: u64,
}

impl Operation {
    /// The operation on all elements, and its operands with comparands behind them.
    fn whole(&self) -> Outcome<(Atomic, Payload)> {
        let (operation, datatype, fetches) = (self.what.operation(), self.what.datatype(), self.what.fetches());
        if self.count == 0 {
            return Err(Errno(FI_EINVAL));
        }
        let count = u32::try_from(self.count).map_err(|_| Errno(FI_EMSGSIZE))?;
        let what = Atomic::new(operation, datatype, fetches, count).ok_or(Errno(FI_EMSGSIZE))?;
        let operands = match operation {
            AtomicOperation::Read => Payload::EMPTY,
            operation if operation.compares() => joined(&self.operands, &self.comparands),
            _ => self.operands.clone(),
        };
        Ok((what, operands))
    }
}

fn joined(first: &Payload, second: &Payload) -> Payload {
    let extents: Vec<Extent> = first.extents().iter().chain(second.extents()).copied().collect();
    Payload::Many(extents.into())
}

impl Endpoint {
    pub fn atomic(&self, wanted: Operation) -> Outcome<()> {
        let (what, operands) = wanted.whole()?;
        let mut state = self.state()?;
        let counter = if what.fetches() { &state.read_counter } else { &state.write_counter };
        let counted = counter.is_some();
        state.post_access((wanted.peer, wanted.report, wanted.context), counted, |transport, (vc, context, notify)| {
            let (to, result) = (wanted.remote, wanted.result);
            transport.atomic(AtomicRequest { vc, to, what, operands, result, notify, context })
        })
    }
}
