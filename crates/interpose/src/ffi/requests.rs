//! Operations of the MPI library that are under way for a schedule.

use std::ffi::c_int;
use std::ptr;

use fishplate_collectives::{Local, LocalRank, Slice};

use super::abi::{Abi, Handle};
use super::functions as mpi;
use super::functions::collective;
use super::memory::Memory;
use super::objects::{Comm, Error, Op, Result, check, made};

/// Requests, each with a label.
pub struct Requests {
    abi: &'static Abi,
    handles: Vec<Handle>,
    /// The handles where they are integers, for MPI to look at.
    narrow: Vec<u32>,
    labels: Vec<usize>,
    /// Labels of what was complete at once.
    complete: Vec<usize>,
    indices: Vec<c_int>,
    /// Counts and displacements, which MPI reads until the operations are complete.
    arrays: Vec<Vec<c_int>>,
}

impl Requests {
    /// None yet.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.complete.is_empty()
    }

    /// Starts to send.
    pub fn send(&mut self, label: usize, comm: Comm, from: Memory, to: usize, tag: c_int) -> Result<()> {
        let (address, count, datatype) = (from.address(), from.count(), from.datatype());
        // SAFETY: memory of that many elements, which the schedule leaves alone until the step is complete.
        self.add(label, |slot| unsafe { mpi::isend(address, count, datatype, to as c_int, tag, comm.0, slot) })
    }

    /// Starts to receive.
    pub fn receive(&mut self, label: usize, comm: Comm, into: Memory, from: usize, tag: c_int) -> Result<()> {
        let (address, count, datatype) = (into.address(), into.count(), into.datatype());
        // SAFETY: as above.
        self.add(label, |slot| unsafe { mpi::irecv(address, count, datatype, from as c_int, tag, comm.0, slot) })
    }

    /// Starts a collective operation of a cluster's communicator. `place` says where slices are.
    pub fn local(
        &mut self,
        label: usize,
        comm: Comm,
        local: &Local,
        op: Option<Op>,
        place: impl Fn(Slice) -> Memory,
    ) -> Result<()> {
        let abi = self.abi;
        let in_place = abi.in_place as mpi::Address;
        // SAFETY: memory as the slices say, which the schedule leaves alone until the step is complete; arrays that `self`
        // keeps until then, with an entry for each rank.
        unsafe {
            match local {
                Local::Barrier => self.add(label, |slot| collective::ibarrier(comm.0, slot)),
                Local::Broadcast { root, data } => {
                    let data = place(*data);
                    self.add(label, |slot| {
                        collective::ibcast(data.address(), data.count(), data.datatype(), int(*root), comm.0, slot)
                    })
                }
                Local::Reduce { root, from, into } => {
                    let at_root = into.map(&place);
                    let from_address = if *into == Some(*from) { in_place } else { place(*from).address() };
                    let (from, op) = (place(*from), op.ok_or(Error(abi.error_other))?);
                    let into = at_root.map_or(ptr::null_mut(), Memory::address);
                    self.add(label, |slot| {
                        collective::ireduce(
                            from_address,
                            into,
                            from.count(),
                            from.datatype(),
                            op.0,
                            int(*root),
                            comm.0,
                            slot,
                        )
                    })
                }
                Local::ReduceScatter { from, lens, into } => {
                    let lens = self.keep(lens.iter().copied());
                    let (from, into, op) = (place(*from), place(*into), op.ok_or(Error(abi.error_other))?);
                    self.add(label, |slot| {
                        collective::ireduce_scatter(
                            from.address(),
                            into.address(),
                            lens,
                            from.datatype(),
                            op.0,
                            comm.0,
                            slot,
                        )
                    })
                }
                Local::Allgather { blocks } => {
                    let (base, counts, starts) = self.blocks(blocks, &place);
                    self.add(label, |slot| {
                        collective::iallgatherv(
                            in_place,
                            0,
                            base.datatype(),
                            base.address(),
                            counts,
                            starts,
                            base.datatype(),
                            comm.0,
                            slot,
                        )
                    })
                }
                Local::Gather { root, from, blocks } => {
                    let own = place(*from);
                    let (base, counts, starts) = self.blocks(blocks.as_deref().unwrap_or(&[*from]), &place);
                    let is_there = blocks.as_ref().is_some_and(|blocks| blocks[root.0] == *from);
                    let address = if is_there { in_place } else { own.address() };
                    self.add(label, |slot| {
                        collective::igatherv(
                            address,
                            own.count(),
                            own.datatype(),
                            base.address(),
                            counts,
                            starts,
                            base.datatype(),
                            int(*root),
                            comm.0,
                            slot,
                        )
                    })
                }
                Local::Scatter { root, blocks, into } => {
                    let own = place(*into);
                    let (base, counts, starts) = self.blocks(blocks.as_deref().unwrap_or(&[*into]), &place);
                    let is_there = blocks.as_ref().is_some_and(|blocks| blocks[root.0] == *into);
                    let address = if is_there { in_place } else { own.address() };
                    self.add(label, |slot| {
                        collective::iscatterv(
                            base.address(),
                            counts,
                            starts,
                            base.datatype(),
                            address,
                            own.count(),
                            own.datatype(),
                            int(*root),
                            comm.0,
                            slot,
                        )
                    })
                }
                Local::Alltoall { from, into } => {
                    let (out, out_counts, out_starts) = self.blocks(from, &place);
                    let (base, counts, starts) = self.blocks(into, &place);
                    self.add(label, |slot| {
                        collective::ialltoallv(
                            out.address(),
                            out_counts,
                            out_starts,
                            out.datatype(),
                            base.address(),
                            counts,
                            starts,
                            base.datatype(),
                            comm.0,
                            slot,
                        )
                    })
                }
            }
        }
    }

    /// Takes receives back to which nothing has come; they complete soon.
    pub fn cancel(&mut self) -> Result<()> {
        for handle in &mut self.handles {
            let mut narrow = *handle as u32;
            let wide = self.abi.handle_bytes == size_of::<Handle>();
            let place = if wide { ptr::from_mut(handle).cast() } else { ptr::from_mut(&mut narrow).cast() };
            // SAFETY: the place of a valid handle.
            check(unsafe { mpi::cancel(place) })?;
        }
        Ok(())
    }

    /// Lists what is complete by its labels.
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
        check(unsafe { mpi::testsome(count as c_int, handles, &mut found, self.indices.as_mut_ptr(), ignore) })?;
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
        let handle = made(self.abi, start)?;
        if self.abi.is_complete(handle) {
            self.complete.push(label);
            return Ok(());
        }
        self.handles.push(handle);
        self.labels.push(label);
        Ok(())
    }

    /// The handles as MPI wants them. It changes those that are complete, and these are removed.
    fn array(&mut self) -> mpi::Slot {
        if self.abi.handle_bytes == size_of::<Handle>() {
            return self.handles.as_mut_ptr().cast();
        }
        self.narrow.clear();
        self.narrow.extend(self.handles.iter().map(|handle| *handle as u32));
        self.narrow.as_mut_ptr().cast()
    }

    /// Where blocks are that lie in one buffer: the first in memory, counts, displacements from there. (Not from the start of
    /// the buffer: Open MPI takes an operation for one in place when what is sent and received begin at one address.)
    fn blocks(&mut self, blocks: &[Slice], place: &impl Fn(Slice) -> Memory) -> (Memory, *const c_int, *const c_int) {
        let first = blocks.iter().filter(|block| block.len > 0).min_by_key(|block| block.start);
        let first = first.or(blocks.first()).copied().unwrap_or(Slice::empty());
        let start = |block: &Slice| if block.len > 0 { block.start - first.start } else { 0 };
        let counts = self.keep(blocks.iter().map(|block| block.len));
        let starts = self.keep(blocks.iter().map(start));
        (place(Slice { len: 0, ..first }), counts, starts)
    }

    fn keep(&mut self, numbers: impl Iterator<Item = usize>) -> *const c_int {
        self.arrays.push(numbers.map(|number| c_int::try_from(number).unwrap_or(0)).collect());
        self.arrays.last().map_or(ptr::null(), |array| array.as_ptr())
    }
}

// SAFETY: requests may be completed by any thread, one at a time, as `&mut` makes sure.
unsafe impl Send for Requests {}

fn int(rank: LocalRank) -> c_int {
    rank.0 as c_int
}
