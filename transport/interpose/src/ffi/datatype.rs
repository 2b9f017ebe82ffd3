//! Datatypes: layout of elements, packing of noncontiguous elements, and their unpacking when a schedule is complete.

use std::ffi::c_int;
use std::ptr;

use super::abi::Abi;
use super::functions::{self as mpi, Address, Handle};
use super::memory::{Element, Memory, Scratch};
use super::objects::{Comm, Result, check, new_handle};

#[derive(Clone, Copy, Debug)]
pub struct Datatype {
    handle: Handle,
    /// Bytes of data in an element.
    pub size: usize,
    /// Bytes from one element to the next.
    pub extent: isize,
    /// Whether it is predefined.
    pub is_named: bool,
}

impl Datatype {
    /// Queries a datatype; `None` for MPI_DATATYPE_NULL.
    pub(super) fn of(abi: &Abi, handle: Handle) -> Option<Datatype> {
        if handle == abi.datatype_null {
            return None;
        }
        let (mut size, mut lower, mut extent): (c_int, isize, isize) = (0, 0, 0);
        let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
        // SAFETY: a valid datatype and places for numbers.
        let codes = unsafe {
            [
                mpi::Type_size(handle, &mut size),
                mpi::Type_get_extent(handle, &mut lower, &mut extent),
                mpi::Type_get_envelope(handle, &mut integers, &mut addresses, &mut types, &mut combiner),
            ]
        };
        // The size is MPI_UNDEFINED (negative) if it does not fit in an integer.
        let size = usize::try_from(size).ok().filter(|_| codes == [0, 0, 0])?;
        Some(Datatype { handle, size, extent, is_named: combiner == abi.combiner_named })
    }

    /// Whether it is contiguous: elements have no gaps, and their parts are in ascending order.
    pub fn is_dense(&self) -> bool {
        self.is_named && self.extent == self.size as isize
    }

    /// The corresponding element of schedules.
    pub fn element(&self) -> Element {
        Element { bytes: self.extent.unsigned_abs(), datatype: self.handle }
    }
}

/// A byte as an element of schedules.
pub fn byte(abi: &Abi) -> Element {
    Element { bytes: 1, datatype: abi.byte }
}

/// Noncontiguous elements of the program.
#[derive(Clone, Copy)]
pub struct Scattered {
    start: Address,
    count: c_int,
    datatype: Handle,
}

// SAFETY: as for `Memory`.
unsafe impl Send for Scattered {}

impl Scattered {
    /// `count` elements from there.
    ///
    /// # Safety
    /// The elements must be valid until their operation is complete.
    pub(super) unsafe fn new(start: Address, count: c_int, datatype: Datatype) -> Scattered {
        Scattered { start, count, datatype: datatype.handle }
    }

    /// Packs the elements into contiguous memory of the same number of bytes.
    pub(super) fn pack(self, into: Address, bytes: usize, comm: Comm) -> Result<()> {
        let mut position = 0;
        // SAFETY: valid elements, and memory of their size.
        check(unsafe { mpi::Pack(self.start, self.count, self.datatype, into, bytes as c_int, &mut position, comm.0) })
    }

    /// Unpacks the elements from contiguous memory.
    pub(super) fn unpack(self, from: Address, bytes: usize, comm: Comm) -> Result<()> {
        let mut position = 0;
        // SAFETY: as above.
        check(unsafe {
            mpi::Unpack(from, bytes as c_int, &mut position, self.start, self.count, self.datatype, comm.0)
        })
    }
}

/// A duplicate of a datatype: the program may free its own while an operation uses it.
pub struct Kept(Handle);

impl Kept {
    pub(super) fn new(abi: &Abi, datatype: Datatype) -> Result<Kept> {
        // SAFETY: a valid datatype and a pointer to a handle.
        new_handle(abi, |place| unsafe { mpi::Type_dup(datatype.handle, place) }).map(Kept)
    }

    /// The same elements, described by the duplicate.
    pub(super) fn hold(&self, elements: Scattered) -> Scattered {
        Scattered { datatype: self.0, ..elements }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: a pointer to a valid handle.
        unsafe { mpi::Type_free(ptr::from_mut(&mut self.0).cast()) };
    }
}

/// Received bytes that must be unpacked into noncontiguous elements.
#[derive(Default)]
pub struct Unpacking {
    scattered: Vec<Piece>,
    /// Owner of the contiguous buffers of the schedule.
    pub(super) staging: Vec<Scratch>,
    /// Owner of the datatype of the elements.
    pub(super) kept: Option<Kept>,
    comm: Option<Comm>,
}

struct Piece {
    bytes: Memory,
    elements: Scattered,
}

impl Unpacking {
    /// Without anything to unpack.
    pub(super) fn on(comm: Comm) -> Unpacking {
        Unpacking { comm: Some(comm), ..Unpacking::default() }
    }

    pub(super) fn add(&mut self, bytes: Memory, elements: Scattered) {
        self.scattered.push(Piece { bytes, elements });
    }

    pub fn unpack(&mut self) -> Result<()> {
        let Some(comm) = self.comm else { return Ok(()) };
        for piece in &self.scattered {
            piece.elements.unpack(piece.bytes.address(), piece.bytes.bytes(), comm)?;
        }
        Ok(())
    }
}
