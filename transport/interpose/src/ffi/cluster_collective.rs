//! Steps of schedules that are collective operations on the cluster's communicator.

use std::ffi::c_int;
use std::ptr;

use fishplate_collectives::{Local, LocalRank, Slice};

use super::call;
use super::functions::{Address, Slot};
use super::memory::Memory;
use super::objects::{Comm, Error, Op, Result};
use super::requests::Requests;

impl Requests {
    /// Starts a collective operation on a cluster's communicator. `place` maps slices to memory.
    pub fn local(
        &mut self,
        label: usize,
        comm: Comm,
        local: &Local,
        op: Option<Op>,
        place: impl Fn(Slice) -> Memory,
    ) -> Result<()> {
        Step { requests: self, label, comm, op, place }.start(local)
    }
}

/// A step that is about to start.
///
/// All its calls of MPI are sound for these reasons: the memory is as long as the slices, and the schedule does not touch it
/// until the step is complete; arrays have an entry for each rank of the communicator, and the requests keep them until then.
struct Step<'a, Place> {
    requests: &'a mut Requests,
    label: usize,
    comm: Comm,
    /// For reductions.
    op: Option<Op>,
    place: Place,
}

/// Blocks in one buffer, one per rank.
struct Blocks {
    /// Start of the block with the lowest address; contains no elements.
    base: Memory,
    counts: *const c_int,
    /// Displacements from `base`. (Not from the start of the buffer: Open MPI takes an operation for an in-place one if send and
    /// receive buffers begin at one address.)
    starts: *const c_int,
}

impl<Place: Fn(Slice) -> Memory> Step<'_, Place> {
    fn start(&mut self, local: &Local) -> Result<()> {
        match local {
            Local::Barrier => self.barrier(),
            Local::Broadcast { root, data } => self.broadcast(*root, *data),
            Local::Reduce { root, from, into } => self.reduce(*root, *from, *into),
            Local::ReduceScatter { from, lens, into } => self.reduce_scatter(*from, lens, *into),
            Local::Allgather { blocks } => self.allgather(blocks),
            Local::Gather { root, from, blocks } => self.gather(*root, *from, blocks.as_deref()),
            Local::Scatter { root, blocks, into } => self.scatter(*root, blocks.as_deref(), *into),
            Local::Alltoall { from, into } => self.alltoall(from, into),
        }
    }

    fn barrier(&mut self) -> Result<()> {
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe { call::Ibarrier(comm.0, slot) })
    }

    fn broadcast(&mut self, root: LocalRank, data: Slice) -> Result<()> {
        let data = (self.place)(data);
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Ibcast(data.address(), data.count(), data.datatype(), int(root), comm.0, slot)
        })
    }

    fn reduce(&mut self, root: LocalRank, from: Slice, into: Option<Slice>) -> Result<()> {
        let op = self.op()?;
        let operand = (self.place)(from);
        let (count, datatype) = (operand.count(), operand.datatype());
        let from = self.in_place_if(into == Some(from)).unwrap_or(operand.address());
        let into = into.map_or(ptr::null_mut(), |into| (self.place)(into).address());
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe { call::Ireduce(from, into, count, datatype, op.0, int(root), comm.0, slot) })
    }

    fn reduce_scatter(&mut self, from: Slice, lens: &[usize], into: Slice) -> Result<()> {
        let op = self.op()?;
        let lens = self.requests.keep(lens.iter().copied());
        let (from, into) = ((self.place)(from), (self.place)(into));
        let datatype = from.datatype();
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Ireduce_scatter(from.address(), into.address(), lens, datatype, op.0, comm.0, slot)
        })
    }

    fn allgather(&mut self, blocks: &[Slice]) -> Result<()> {
        let in_place = self.in_place();
        let Blocks { base, counts, starts } = self.blocks(blocks);
        let (into, datatype) = (base.address(), base.datatype());
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Iallgatherv(in_place, 0, datatype, into, counts, starts, datatype, comm.0, slot)
        })
    }

    fn gather(&mut self, root: LocalRank, from: Slice, blocks: Option<&[Slice]>) -> Result<()> {
        let own = (self.place)(from);
        let (count, datatype) = (own.count(), own.datatype());
        let is_there = blocks.is_some_and(|blocks| blocks[root.0] == from);
        let Blocks { base, counts, starts } = self.blocks(blocks.unwrap_or(&[from]));
        let (from, into) = (self.in_place_if(is_there).unwrap_or(own.address()), base.address());
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Igatherv(from, count, datatype, into, counts, starts, datatype, int(root), comm.0, slot)
        })
    }

    fn scatter(&mut self, root: LocalRank, blocks: Option<&[Slice]>, into: Slice) -> Result<()> {
        let own = (self.place)(into);
        let (count, datatype) = (own.count(), own.datatype());
        let is_there = blocks.is_some_and(|blocks| blocks[root.0] == into);
        let Blocks { base, counts, starts } = self.blocks(blocks.unwrap_or(&[into]));
        let (from, into) = (base.address(), self.in_place_if(is_there).unwrap_or(own.address()));
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Iscatterv(from, counts, starts, datatype, into, count, datatype, int(root), comm.0, slot)
        })
    }

    fn alltoall(&mut self, from: &[Slice], into: &[Slice]) -> Result<()> {
        let Blocks { base: out, counts: out_counts, starts: out_starts } = self.blocks(from);
        let Blocks { base, counts, starts } = self.blocks(into);
        let (from, out_type, into, datatype) = (out.address(), out.datatype(), base.address(), base.datatype());
        // SAFETY: as `Step` says.
        self.add(|comm, slot| unsafe {
            call::Ialltoallv(from, out_counts, out_starts, out_type, into, counts, starts, datatype, comm.0, slot)
        })
    }

    fn add(&mut self, start: impl FnOnce(Comm, Slot) -> c_int) -> Result<()> {
        let comm = self.comm;
        self.requests.add(self.label, |slot| start(comm, slot))
    }

    fn op(&self) -> Result<Op> {
        self.op.ok_or(Error(self.requests.abi.error_other))
    }

    fn in_place(&self) -> Address {
        self.requests.abi.in_place as Address
    }

    fn in_place_if(&self, is_there: bool) -> Option<Address> {
        is_there.then(|| self.in_place())
    }

    fn blocks(&mut self, blocks: &[Slice]) -> Blocks {
        let first = blocks.iter().filter(|block| block.len > 0).min_by_key(|block| block.start);
        let first = first.or(blocks.first()).copied().unwrap_or(Slice::empty());
        let start = |block: &Slice| if block.len > 0 { block.start - first.start } else { 0 };
        let counts = self.requests.keep(blocks.iter().map(|block| block.len));
        let starts = self.requests.keep(blocks.iter().map(start));
        Blocks { base: (self.place)(Slice { len: 0, ..first }), counts, starts }
    }
}

fn int(rank: LocalRank) -> c_int {
    rank.0 as c_int
}
