//! Active MPI operations of a schedule.

use std::ffi::c_int;
use std::ptr;

use super::abi::Abi;
use super::functions::{self as mpi, Handle};
use super::memory::Memory;
use super::objects::{Comm, Result, check, new_handle};

pub struct Requests {
    pub(super) abi: &'static Abi,
    handles: Vec<Handle>,
    /// The handles in the form passed to MPI where handles are integers.
    narrow: Vec<u32>,
    labels: Vec<usize>,
    /// Labels of operations that completed at once.
    complete: Vec<usize>,
    indices: Vec<c_int>,
    /// Counts and displacements, which MPI reads until the operations are complete.
    arrays: Vec<Vec<c_int>>,
}

impl Requests {
    pub fn new(abi: &'static Abi) -> Requests {
        Requests {
            abi,
            handles: Vec::new(),
            narrow: Vec::new(),
            labels: Vec::new(),
            complete: Vec::new(),
            indices: Vec::new(),
            arrays: Vec::new(),
        }
    }

    /// Whether no operation is active.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.complete.is_empty()
    }

    pub fn send(&mut self, label: usize, comm: Comm, from: Memory, to: usize, tag: c_int) -> Result<()> {
        let (address, count, datatype) = (from.address(), from.count(), from.datatype());
        // SAFETY: memory of that many elements, which the schedule does not touch until the step is complete.
        self.add(label, |slot| unsafe { mpi::Isend(address, count, datatype, to as c_int, tag, comm.0, slot) })
    }

    pub fn receive(&mut self, label: usize, comm: Comm, into: Memory, from: usize, tag: c_int) -> Result<()> {
        let (address, count, datatype) = (into.address(), into.count(), into.datatype());
        // SAFETY: as above.
        self.add(label, |slot| unsafe { mpi::Irecv(address, count, datatype, from as c_int, tag, comm.0, slot) })
    }

    /// Cancels receives that have no message yet; they complete soon.
    pub fn cancel(&mut self) -> Result<()> {
        for handle in &mut self.handles {
            let mut narrow = *handle as u32;
            let wide = self.abi.handle_bytes == size_of::<Handle>();
            let place = if wide { ptr::from_mut(handle).cast() } else { ptr::from_mut(&mut narrow).cast() };
            // SAFETY: the place of a valid handle.
            check(unsafe { mpi::Cancel(place) })?;
        }
        Ok(())
    }

    /// Appends the labels of completed operations to `done`.
    pub fn complete(&mut self, done: &mut Vec<usize>) -> Result<()> {
        done.append(&mut self.complete);
        if self.labels.is_empty() {
            return Ok(());
        }
        let count = self.labels.len();
        self.indices.resize(count, 0);
        let mut found = 0;
        let ignore = self.abi.status_ignore as mpi::Address;
        let handles = self.array();
        // SAFETY: arrays of that many handles and indices.
        check(unsafe { mpi::Testsome(count as c_int, handles, &mut found, self.indices.as_mut_ptr(), ignore) })?;
        let mut found: Vec<usize> =
            self.indices[..usize::try_from(found).unwrap_or(0)].iter().map(|i| *i as usize).collect();
        found.sort_unstable_by(|left, right| right.cmp(left));
        for index in found {
            done.push(self.labels.swap_remove(index));
            self.handles.swap_remove(index);
        }
        Ok(())
    }

    pub(super) fn add(&mut self, label: usize, start: impl FnOnce(mpi::Slot) -> c_int) -> Result<()> {
        let handle = new_handle(self.abi, start)?;
        if self.abi.is_complete(handle) {
            self.complete.push(label);
            return Ok(());
        }
        self.handles.push(handle);
        self.labels.push(label);
        Ok(())
    }

    /// The handles in the form that MPI requires. MPI resets completed ones, which are removed.
    fn array(&mut self) -> mpi::Slot {
        if self.abi.handle_bytes == size_of::<Handle>() {
            return self.handles.as_mut_ptr().cast();
        }
        self.narrow.clear();
        self.narrow.extend(self.handles.iter().map(|handle| *handle as u32));
        self.narrow.as_mut_ptr().cast()
    }

    /// Keeps numbers for MPI until the operations are complete.
    pub(super) fn keep(&mut self, numbers: impl Iterator<Item = usize>) -> *const c_int {
        self.arrays.push(numbers.map(|number| c_int::try_from(number).unwrap_or(0)).collect());
        self.arrays.last().map_or(ptr::null(), |array| array.as_ptr())
    }
}

// SAFETY: any thread may complete requests, but only one at a time, which `&mut` ensures.
unsafe impl Send for Requests {}
