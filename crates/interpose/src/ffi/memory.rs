//! Memory that schedules work on: elements of one datatype at equal distances.

use std::ffi::c_int;
use std::ptr;

use fishplate_collectives::Slice;

use super::functions::Address;
use super::handle::Handle;

/// Elements in memory, of the program or of [`Scratch`]; as long as MPI's rules for the program's call, or whoever owns
/// the scratch, say.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    start: *mut u8,
    count: usize,
    element: Element,
}

/// What an element is for MPI.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Bytes from one to the next.
    pub bytes: usize,
    pub(super) datatype: Handle,
}

// SAFETY: MPI allows any thread to complete an operation; what happens to the memory is ordered by the schedule.
unsafe impl Send for Memory {}

impl Memory {
    /// `count` elements from there.
    ///
    /// # Safety
    /// They must be there, and stay until the operation that they are for is complete.
    pub(super) unsafe fn new(start: Address, count: usize, element: Element) -> Memory {
        Memory { start: start.cast(), count, element }
    }

    /// No elements.
    pub fn none(element: Element) -> Memory {
        Memory { start: ptr::null_mut(), count: 0, element }
    }

    /// What its elements are.
    pub fn element(self) -> Element {
        self.element
    }

    /// Part of it.
    ///
    /// # Panics
    /// When it has fewer elements.
    pub fn part(self, slice: Slice) -> Memory {
        assert!(slice.end() <= self.count || slice.len == 0, "a schedule stays within its buffers");
        Memory { start: self.start.wrapping_add(slice.start * self.element.bytes), count: slice.len, ..self }
    }

    /// Copies what `from` has; both have as many elements.
    pub fn copy(self, from: Memory) {
        assert_eq!((self.count, self.element.bytes), (from.count, from.element.bytes), "copies of equal length");
        // SAFETY: both are that long; `copy` bears with an overlap.
        unsafe { ptr::copy(from.start, self.start, self.count * self.element.bytes) };
    }

    /// Its length in bytes.
    pub(super) fn bytes(self) -> usize {
        self.count * self.element.bytes
    }

    pub(super) fn address(self) -> Address {
        self.start.cast()
    }

    /// Number of elements. More than fit are never scheduled.
    pub(super) fn count(self) -> c_int {
        c_int::try_from(self.count).unwrap_or(0)
    }

    pub(super) fn datatype(self) -> Handle {
        self.element.datatype
    }
}

/// Memory of our own.
pub struct Scratch {
    /// Never read or written but through pointers, so what is in there does not matter.
    bytes: Vec<u128>,
    element: Element,
    count: usize,
}

impl Scratch {
    /// For so many elements.
    pub fn new(count: usize, element: Element) -> Scratch {
        Scratch { bytes: Vec::with_capacity((count * element.bytes).div_ceil(size_of::<u128>())), element, count }
    }

    /// All of it; valid as long as the scratch is.
    pub fn memory(&mut self) -> Memory {
        Memory { start: self.bytes.as_mut_ptr().cast(), count: self.count, element: self.element }
    }
}
