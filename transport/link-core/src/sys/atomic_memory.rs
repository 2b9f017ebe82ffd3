//! Atomic operations on user memory.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fishplate_engine::{Atomic, Extent, Payload, Refusal};

use super::memory::{UserMemory, address};

/// Serializes operations on memory of this process. Several endpoints may apply some, each in a thread of its own, and there are no
/// atomic instructions for elements of 16 bytes.
static APPLIES: Mutex<()> = Mutex::new(());

impl UserMemory {
    /// Applies `what` to the array `to`, with `operands` (and comparands behind these), and appends the old values to `result`. Each
    /// element is updated atomically with respect to all calls of this function, and aligned elements of up to 8 bytes also with
    /// respect to atomic instructions.
    pub fn apply(
        &self,
        what: &Atomic,
        to: &Payload,
        operands: &[u8],
        mut result: Option<&mut Vec<u8>>,
    ) -> Result<(), Refusal> {
        let (len, alignment) = (what.datatype().size(), what.datatype().alignment());
        let elements = || (0..u64::from(what.count())).map(|at| element(to, at * len, len));
        if elements().any(|place| place.is_none_or(|place| !(address(&place) as u64).is_multiple_of(alignment))) {
            return Err(Refusal::Alignment);
        }
        let _alone: MutexGuard<'_, ()> = APPLIES.lock().unwrap_or_else(PoisonError::into_inner);
        let comparands = what.target_len() as usize;
        for (at, place) in elements().flatten().enumerate() {
            let at = at * len as usize;
            let operand = value(operands, at, len as usize);
            let comparand = value(operands, comparands + at, len as usize);
            let change = |old| what.combine(old, operand, comparand);
            // SAFETY: the creator of `self` guarantees that the extent can be read and written; its alignment was checked.
            let old = unsafe { update(address(&place), len, change) };
            if let Some(result) = &mut result {
                result.extend_from_slice(&old.to_le_bytes()[..len as usize]);
            }
        }
        Ok(())
    }
}

/// The element at `offset`, if it lies in one extent.
fn element(array: &Payload, offset: u64, len: u64) -> Option<Extent> {
    match array.slice(offset, len) {
        Payload::One(extent) if extent.len == len => Some(extent),
        _ => None,
    }
}

/// The value of up to `len` bytes at `at`.
fn value(bytes: &[u8], at: usize, len: usize) -> u128 {
    let mut wide = [0; 16];
    if let Some(bytes) = bytes.get(at..at + len) {
        wide[..len].copy_from_slice(bytes);
    }
    u128::from_le_bytes(wide)
}

/// Updates the value at `place`, and returns the old one. An unchanged value is not written, as the memory may be read-only.
///
/// # Safety
/// `len` bytes from `place` on can be read, and written if `change` changes them; nothing but this module, and instructions that
/// are atomic, accesses them meanwhile.
unsafe fn update(place: *mut u8, len: u64, change: impl Fn(u128) -> u128) -> u128 {
    macro_rules! at_once {
        ($cell:ty, $value:ty) => {{
            // SAFETY: the caller promises it; the place was found to be aligned for it.
            let cell = unsafe { <$cell>::from_ptr(place.cast()) };
            let other = |old: $value| Some(change(old.into()) as $value).filter(|new| *new != old);
            cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, other).unwrap_or_else(|old| old).into()
        }};
    }
    match len {
        1 => at_once!(AtomicU8, u8),
        2 => at_once!(AtomicU16, u16),
        4 => at_once!(AtomicU32, u32),
        8 if (place as usize).is_multiple_of(8) => at_once!(AtomicU64, u64),
        len => {
            let mut bytes = [0; 16];
            let len = (len as usize).min(bytes.len());
            // SAFETY: the caller promises it; both have `len` bytes.
            unsafe { std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), len) };
            let old = u128::from_le_bytes(bytes);
            let new = change(old);
            if new != old {
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(new.to_le_bytes().as_ptr(), place, len) };
            }
            old
        }
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::{AtomicOperation, Datatype, Region};

    use super::*;

    fn array<T>(values: &[T]) -> Payload {
        Payload::whole(Region(values.as_ptr().expose_provenance() as u64), size_of_val(values) as u64)
    }

    fn atomic(operation: AtomicOperation, datatype: Datatype, count: u32) -> Atomic {
        Atomic::new(operation, datatype, true, count).unwrap()
    }

    #[test]
    fn every_element_is_changed_and_its_value_before_is_the_result() {
        let memory = UserMemory::of_test();
        let values = std::hint::black_box(vec![1i64, -2, 3]);
        let operands: Vec<u8> = [10i64, 20, 30].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut result = Vec::new();
        let what = atomic(AtomicOperation::Sum, Datatype::Int64, 3);
        memory.apply(&what, &array(&values), &operands, Some(&mut result)).unwrap();
        assert_eq!(std::hint::black_box(values), [11, 18, 33]);
        let before: Vec<u8> = [1i64, -2, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(result, before);
    }

    #[test]
    fn comparands_are_behind_the_operands() {
        let memory = UserMemory::of_test();
        let values = std::hint::black_box(vec![5u16, 6]);
        let all: Vec<u8> = [50u16, 60, 5, 5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let what = atomic(AtomicOperation::SwapIfEqual, Datatype::Uint16, 2);
        memory.apply(&what, &array(&values), &all, Some(&mut Vec::new())).unwrap();
        assert_eq!(std::hint::black_box(values), [50, 6]);
    }

    #[test]
    fn elements_of_16_bytes_and_complex_numbers_that_are_not_aligned_to_8_work_too() {
        let memory = UserMemory::of_test();
        let values = std::hint::black_box(vec![1u128 << 100, 2]);
        let what = atomic(AtomicOperation::Sum, Datatype::Uint128, 2);
        let operands: Vec<u8> = [1u128, 1].iter().flat_map(|value| value.to_le_bytes()).collect();
        memory.apply(&what, &array(&values), &operands, None).unwrap();
        assert_eq!(std::hint::black_box(values), [(1 << 100) + 1, 3]);
        let parts = std::hint::black_box(vec![0f32, 1.0, 2.0, 0.0]);
        let what = atomic(AtomicOperation::Sum, Datatype::FloatComplex, 1);
        let operands: Vec<u8> = [0.5f32, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        for at in [1, 2] {
            memory.apply(&what, &array(&parts[at..at + 2]), &operands, None).unwrap();
        }
        assert_eq!(std::hint::black_box(parts), [0.0, 1.5, 3.0, 0.5]);
    }

    #[test]
    fn unaligned_or_divided_operands_are_refused_and_untouched() {
        let memory = UserMemory::of_test();
        let values = std::hint::black_box(vec![7u32; 4]);
        let Payload::One(all) = array(&values) else { unreachable!() };
        let what = atomic(AtomicOperation::Write, Datatype::Uint32, 1);
        let in_pieces = Payload::Many([all.slice(0, 2), all.slice(8, 2)].into());
        for wrong in [Payload::One(all.slice(2, 4)), in_pieces] {
            assert_eq!(memory.apply(&what, &wrong, &[0; 4], None), Err(Refusal::Alignment));
        }
        assert_eq!(std::hint::black_box(values), [7; 4]);
    }

    #[test]
    fn threads_do_not_lose_each_other_s_changes() {
        let values = std::hint::black_box(vec![0u128; 1]);
        let place = array(&values);
        let add = || {
            let memory = UserMemory::of_test();
            let what = atomic(AtomicOperation::Sum, Datatype::Uint128, 1);
            (0..10_000).for_each(|_| memory.apply(&what, &place, &1u128.to_le_bytes(), None).unwrap());
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(add))));
        assert_eq!(std::hint::black_box(values), [40_000]);
    }
}
