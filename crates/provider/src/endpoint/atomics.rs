//! Atomic operations of an endpoint.

use fishplate_engine::{Atomic, AtomicOperation, AtomicRequest, Datatype, Extent, Payload, Remote};
use ofi_abi::{FI_EINVAL, FI_EMSGSIZE, FI_EOPNOTSUPP};

use crate::endpoint::{Endpoint, Report};
use crate::errno::{Errno, Outcome};

/// The calls that there are: each has operations of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `fi_atomic`: nothing comes back.
    Atomic,
    /// `fi_fetch_atomic`: what was there before does.
    Fetch,
    /// `fi_compare_atomic`: the same, and it is compared.
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

/// An atomic operation as a call describes it.
pub struct Operation {
    /// Address vector index of the peer.
    pub peer: u64,
    /// Where in the peer's memory the array begins.
    pub remote: Remote,
    /// What is done, to one element.
    pub what: Atomic,
    /// To how many.
    pub count: usize,
    /// The operands here; of a read they mean nothing.
    pub operands: Payload,
    /// What they are compared with here, if they are.
    pub comparands: Payload,
    /// Where the values before go, if they are wanted.
    pub result: Payload,
    /// Whether success is reported.
    pub report: Report,
    /// The application's name for it.
    pub context: u64,
}

impl Operation {
    /// What is done to all elements, and with what.
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
    /// Posts an atomic operation.
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
