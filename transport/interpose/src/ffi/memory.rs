//! Memory of schedules: equidistant elements of one datatype.

use std::ffi::c_int;
use std::ptr;

use fishplate_collectives::Slice;

use super::functions::{Address, Handle};

/// Elements in memory of the program or of a [`Scratch`]. They are valid as long as MPI's rules for the program's call
/// demand, or until the scratch is dropped.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    start: *mut u8,
    count: usize,
    element: Element,
}

/// Type of an element.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Bytes from one to the next.
    pub bytes: usize,
    pub(super) datatype: Handle,
}

// SAFETY: MPI allows any thread to complete an operation; the schedule orders the accesses to the memory.
unsafe impl Send for Memory {}

impl Memory {
    /// `count` elements from `start` on.
    ///
    /// # Safety
    /// The elements must be valid until their operation is complete.
    pub(super) unsafe fn new(start: Address, count: usize, element: Element) -> Memory {
        Memory { start: start.cast(), count, element }
    }

    pub fn none(element: Element) -> Memory {
        Memory { start: ptr::null_mut(), count: 0, element }
    }

    pub fn element(self) -> Element {
        self.element
    }

    /// A part of the memory.
    ///
    /// # Panics
    /// If the slice exceeds the memory.
    pub fn part(self, slice: Slice) -> Memory {
        assert!(slice.end() <= self.count || slice.len == 0, "a schedule stays within its buffers");
        Memory { start: self.start.wrapping_add(slice.start * self.element.bytes), count: slice.len, ..self }
    }

    /// Copies `from`, which must have the same number of elements.
    pub fn copy(self, from: Memory) {
        assert_eq!((self.count, self.element.bytes), (from.count, from.element.bytes), "copies of equal length");
        // SAFETY: both have that length; `copy` permits overlap.
        unsafe { ptr::copy(from.start, self.start, self.count * self.element.bytes) };
    }

    pub(super) fn bytes(self) -> usize {
        self.count * self.element.bytes
    }

    pub(super) fn address(self) -> Address {
        self.start.cast()
    }

    /// Number of elements. Schedules never have more elements than fit in an `int`.
    pub(super) fn count(self) -> c_int {
        c_int::try_from(self.count).unwrap_or(0)
    }

    pub(super) fn datatype(self) -> Handle {
        self.element.datatype
    }
}

/// Memory of this library.
pub struct Scratch {
    /// Only accessed through pointers.
    bytes: Vec<u128>,
    element: Element,
    count: usize,
}

impl Scratch {
    pub fn new(count: usize, element: Element) -> Scratch {
        Scratch { bytes: Vec::with_capacity((count * element.bytes).div_ceil(size_of::<u128>())), element, count }
    }

    /// The whole memory; valid until the scratch is dropped.
    pub fn memory(&mut self) -> Memory {
        Memory { start: self.bytes.as_mut_ptr().cast(), count: self.count, element: self.element }
    }
}
