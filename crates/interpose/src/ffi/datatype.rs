//! Datatypes: what elements look like, and those that are not one piece in memory.

use std::ffi::c_int;
use std::ptr;

use super::abi::Abi;
use super::functions::{self as mpi, Address};
use super::handle::Handle;
use super::memory::Element;
use super::objects::{Comm, Result, check, new_handle};

/// A datatype.
#[derive(Clone, Copy, Debug)]
pub struct Datatype {
    handle: Handle,
    /// Bytes of data in an element.
    pub size: usize,
    /// Bytes from one element to the next.
    pub extent: isize,
    /// Whether MPI defines it.
    pub is_named: bool,
}

impl Datatype {
    /// What MPI says about one; nothing for none.
    pub(super) fn of(abi: &Abi, handle: Handle) -> Option<Datatype> {
        if handle == abi.datatype_null {
            return None;
        }
        let (mut size, mut lower, mut extent): (c_int, isize, isize) = (0, 0, 0);
        let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
        // SAFETY: a valid datatype and places for numbers.
        let codes = unsafe {
            [
                mpi::type_size(handle, &mut size),
                mpi::type_get_extent(handle, &mut lower, &mut extent),
                mpi::type_get_envelope(handle, &mut integers, &mut addresses, &mut types, &mut combiner),
            ]
        };
        // MPI_UNDEFINED is the size of what does not fit in an integer.
        let size = usize::try_from(size).ok().filter(|_| codes == [0, 0, 0])?;
        Some(Datatype { handle, size, extent, is_named: combiner == abi.combiner_named })
    }

    /// Whether elements follow each other without gaps, in the order of their parts.
    pub fn is_dense(&self) -> bool {
        self.is_named && self.extent == self.size as isize
    }

    /// As elements of a schedule.
    pub fn element(&self) -> Element {
        Element { bytes: self.extent.unsigned_abs(), datatype: self.handle }
    }
}

/// A byte as element of a schedule.
pub fn byte(abi: &Abi) -> Element {
    Element { bytes: 1, datatype: abi.byte }
}

/// Elements of the program's that are no bytes in one piece.
#[derive(Clone, Copy)]
pub struct Scattered {
    start: Address,
    count: c_int,
    datatype: Handle,
}

// SAFETY: as of `Memory`.
unsafe impl Send for Scattered {}

impl Scattered {
    /// `count` elements from there.
    ///
    /// # Safety
    /// They must be there, and stay until the operation that they are for is complete.
    pub(super) unsafe fn new(start: Address, count: c_int, datatype: Datatype) -> Scattered {
        Scattered { start, count, datatype: datatype.handle }
    }

    /// Into bytes in one piece, which must be as many.
    pub(super) fn pack(self, into: Address, bytes: usize, comm: Comm) -> Result<()> {
        let mut position = 0;
        // SAFETY: elements that are there, and room for them.
        check(unsafe { mpi::pack(self.start, self.count, self.datatype, into, bytes as c_int, &mut position, comm.0) })
    }

    /// Out of bytes in one piece.
    pub(super) fn unpack(self, from: Address, bytes: usize, comm: Comm) -> Result<()> {
        let mut position = 0;
        // SAFETY: as above.
        check(unsafe {
            mpi::unpack(from, bytes as c_int, &mut position, self.start, self.count, self.datatype, comm.0)
        })
    }
}

/// A datatype kept, for a program may free its own while an operation with it is under way.
pub struct Kept(Handle);

impl Kept {
    /// Another handle of the same.
    pub(super) fn new(abi: &Abi, datatype: Datatype) -> Result<Kept> {
        // SAFETY: a valid datatype and a place for a handle.
        new_handle(abi, |place| unsafe { mpi::type_dup(datatype.handle, place) }).map(Kept)
    }

    /// The same elements, by the handle that is kept.
    pub(super) fn hold(&self, elements: Scattered) -> Scattered {
        Scattered { datatype: self.0, ..elements }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the place of a valid handle.
        unsafe { mpi::type_free(ptr::from_mut(&mut self.0).cast()) };
    }
}
