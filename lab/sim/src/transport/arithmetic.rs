//! Effects of atomic operations on memory.

use fishplate_engine::{Atomic, BounceId};

use super::data::Data;

/// Operands of an operation, and the destination of its result.
#[derive(Clone, Copy)]
pub(super) struct Buffers {
    pub operands: Option<BounceId>,
    pub result: Option<BounceId>,
}

/// New value of `old`, an array of the operation's type.
pub(super) fn combined(what: &Atomic, old: &[u8], operands: &[u8]) -> Vec<u8> {
    let len = what.datatype().size() as usize;
    let value = |bytes: &[u8], at: usize| {
        let mut wide = [0; 16];
        if let Some(bytes) = bytes.get(at..at + len) {
            wide[..len].copy_from_slice(bytes);
        }
        u128::from_le_bytes(wide)
    };
    let combine = |at: usize| what.combine(value(old, at), value(operands, at), value(operands, old.len() + at));
    let elements = (0..old.len()).step_by(len);
    elements.flat_map(|at| combine(at).to_le_bytes().into_iter().take(len)).collect()
}

/// The number in a counter.
pub(super) fn number(data: &Data) -> u64 {
    data.bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
