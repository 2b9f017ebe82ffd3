//! Translates a collective call to an operation of schedules.
//!
//! Data that is only moved is counted in bytes, since ranks may describe it by different datatypes. Noncontiguous data is
//! packed into a contiguous buffer.

use std::ffi::c_int;

use fishplate_collectives::{Blocks, Exchange, Operation, Rank};

use super::abi::Abi;
use super::call::Call;
use super::datatype::{Datatype, Kept, Scattered, Unpacking, byte};
use super::functions::{Address, Counts, Handle};
use super::memory::{Element, Memory, Scratch};
use super::objects::{Comm, Error, Op, Result};
use crate::execution::Buffers;

pub struct Plan {
    pub operation: Operation,
    /// Unit of its lengths.
    pub element: Element,
    /// Whether this process's part is already in the receive buffer.
    pub in_place: bool,
    pub op: Option<Op>,
}

/// A collective call on one communicator.
pub struct Planner<'a> {
    /// The MPI's interface.
    pub abi: &'static Abi,
    pub call: &'a Call,
    pub comm: Comm,
    pub ranks: usize,
    pub rank: usize,
}

#[derive(Clone, Copy)]
struct Part {
    start: Address,
    count: c_int,
    datatype: Datatype,
}

/// Limit of the bytes and elements of a schedule, as the MPI's counts are `int`s.
const MAX_COUNT: usize = c_int::MAX as usize;

impl Planner<'_> {
    /// The operation. `None` if schedules do not support it, which is decided equally on all ranks, or if arguments are invalid,
    /// which the MPI will report.
    pub fn plan(&self) -> Option<Plan> {
        let n = self.ranks;
        let moved = |operation| Plan { operation, element: byte(self.abi), in_place: self.is_in_place(), op: None };
        Some(match *self.call {
            Call::Barrier { .. } => moved(Operation::Barrier),
            Call::Bcast { buffer, count, datatype, root, .. } => {
                let len = self.part(buffer, count, datatype)?.bytes()?;
                moved(Operation::Broadcast { root: self.root(root)?, len: some(len, 1)? })
            }
            Call::Reduce { count, datatype, op, root, .. } => {
                let root = self.root(root)?;
                self.reduction(count, datatype, op, |len, commutative| Operation::Reduce { root, len, commutative })?
            }
            Call::Allreduce { count, datatype, op, .. } => {
                self.reduction(count, datatype, op, |len, commutative| Operation::Allreduce { len, commutative })?
            }
            Call::Reduce_scatter { counts, datatype, op, .. } => {
                let lens = self.lens(counts)?;
                let total = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len))?;
                self.reduce_scatter(Blocks::in_a_row(lens), total, datatype, op)?
            }
            Call::Reduce_scatter_block { count, datatype, op, .. } => {
                let len = usize::try_from(count).ok()?;
                self.reduce_scatter(Blocks::equal(n, len), len.checked_mul(n)?, datatype, op)?
            }
            Call::Allgather { into, count, datatype, .. } => {
                let block = some(self.part(into, count, datatype)?.bytes()?, n)?;
                moved(Operation::Allgather { blocks: Blocks::equal(n, block) })
            }
            Call::Allgatherv { counts, starts, datatype, .. } => {
                moved(Operation::Allgather { blocks: self.blocks(counts, starts, datatype)? })
            }
            Call::Gather { from, out_count, out_type, into, count, datatype, root, .. } => {
                let root = self.root(root)?;
                let blocks = self.rooted_blocks(root, (into, count, datatype), (from, out_count, out_type))?;
                moved(Operation::Gather { root, blocks })
            }
            Call::Scatter { from, out_count, out_type, into, count, datatype, root, .. } => {
                let root = self.root(root)?;
                let blocks = self.rooted_blocks(root, (from, out_count, out_type), (into, count, datatype))?;
                moved(Operation::Scatter { root, blocks })
            }
            Call::Alltoall { into, count, datatype, .. } => {
                let block = some(self.part(into, count, datatype)?.bytes()?, n)?;
                moved(Operation::Alltoall { exchange: Exchange::equal(n, block) })
            }
            _ => return None,
        })
    }

    /// Send and receive memory, and the unpacking at the end. `Error` if packing fails.
    pub fn memory(&self) -> Result<Buffers> {
        let mut unpacking = Unpacking::on(self.comm);
        let n = self.ranks;
        let none = Memory::none(byte(self.abi));
        let part = |start, count, datatype| self.part(start, count, datatype).ok_or(Error(self.abi.error_other));
        let (send, receive) = match *self.call {
            Call::Bcast { buffer, count, datatype, root, .. } => {
                let (is_root, part) = (root as usize == self.rank, part(buffer, count, datatype)?);
                (none, self.bytes(part, 1, &mut unpacking, is_root, !is_root)?)
            }
            Call::Reduce { from, into, count, datatype, .. } | Call::Allreduce { from, into, count, datatype, .. } => {
                let element = part(into, count, datatype)?.datatype.element();
                // SAFETY: the program passes buffers of that many elements; an in-place buffer is not accessed.
                unsafe { (Memory::new(from, count as usize, element), Memory::new(into, count as usize, element)) }
            }
            Call::Reduce_scatter { from, into, counts, datatype, .. } => {
                let lens = self.lens(counts).ok_or(Error(self.abi.error_other))?;
                self.operand_and_block(from, into, lens.iter().sum(), lens[self.rank], datatype)?
            }
            Call::Reduce_scatter_block { from, into, count, datatype, .. } => {
                self.operand_and_block(from, into, count as usize * n, count as usize, datatype)?
            }
            Call::Allgather { from, out_count, out_type, into, count, datatype, .. } => {
                let receive = part(into, count, datatype)?;
                (self.given(from, out_count, out_type, 1, &mut unpacking)?, self.taken(receive, n, &mut unpacking)?)
            }
            Call::Allgatherv { from, out_count, out_type, into, counts, starts, datatype, .. } => {
                let send = self.given(from, out_count, out_type, 1, &mut unpacking)?;
                (send, self.taken_blocks(part(into, 0, datatype)?, counts, starts, &mut unpacking)?)
            }
            Call::Gather { from, out_count, out_type, into, count, datatype, root, .. } => {
                let is_root = root as usize == self.rank;
                let receive = if is_root { self.taken(part(into, count, datatype)?, n, &mut unpacking)? } else { none };
                (self.given(from, out_count, out_type, 1, &mut unpacking)?, receive)
            }
            Call::Scatter { from, out_count, out_type, into, count, datatype, root, .. } => {
                let is_root = root as usize == self.rank;
                let send = if is_root { self.given(from, out_count, out_type, n, &mut unpacking)? } else { none };
                let stays = into as usize == self.abi.in_place;
                (send, if stays { none } else { self.taken(part(into, count, datatype)?, 1, &mut unpacking)? })
            }
            Call::Alltoall { from, out_count, out_type, into, count, datatype, .. } => {
                let receive = part(into, count, datatype)?;
                (self.given(from, out_count, out_type, n, &mut unpacking)?, self.taken(receive, n, &mut unpacking)?)
            }
            _ => (none, none),
        };
        Ok(Buffers { send, receive, unpacking })
    }

    fn reduction(
        &self,
        count: c_int,
        datatype: Handle,
        op: Handle,
        operation: impl FnOnce(usize, bool) -> Operation,
    ) -> Option<Plan> {
        let (op, len) = (self.abi.clean(op), some(usize::try_from(count).ok()?, 1)?);
        let datatype = Datatype::of(self.abi, self.abi.clean(datatype)).filter(|datatype| datatype.is_named)?;
        if op == self.abi.op_null
            || datatype.extent <= 0
            || len.checked_mul(datatype.extent.unsigned_abs())? > MAX_COUNT
        {
            return None;
        }
        let commutes = Op(op).is_commutative().ok()?;
        let element = datatype.element();
        Some(Plan { operation: operation(len, commutes), element, in_place: self.is_in_place(), op: Some(Op(op)) })
    }

    /// `total`: elements of all blocks together.
    fn reduce_scatter(&self, blocks: Blocks, total: usize, datatype: Handle, op: Handle) -> Option<Plan> {
        let operation = |_, commutative| Operation::ReduceScatter { blocks, commutative };
        self.reduction(c_int::try_from(total).ok()?, datatype, op, operation)
    }

    /// Blocks of a gather or scatter. Arguments are significant on either the root or the other ranks.
    fn rooted_blocks(
        &self,
        root: Rank,
        at_root: (Address, c_int, Handle),
        elsewhere: (Address, c_int, Handle),
    ) -> Option<Blocks> {
        let (start, count, datatype) = if root.0 == self.rank { at_root } else { elsewhere };
        let block = some(self.part(start, count, datatype)?.bytes()?, self.ranks)?;
        Some(Blocks::equal(self.ranks, block))
    }

    /// Buffers of a reduce-scatter: `count` elements to send, `own` elements to receive; both in one buffer if in place.
    fn operand_and_block(
        &self,
        from: Address,
        into: Address,
        count: usize,
        own: usize,
        datatype: Handle,
    ) -> Result<(Memory, Memory)> {
        let element = self.part(into, 0, datatype).ok_or(Error(self.abi.error_other))?.datatype.element();
        let own = if self.is_in_place() { count } else { own };
        // SAFETY: the program passes buffers of that many elements; an in-place buffer is not accessed.
        Ok(unsafe { (Memory::new(from, count, element), Memory::new(into, own, element)) })
    }

    /// Whether the call's send buffer, or the receive buffer of a scatter, is MPI_IN_PLACE.
    fn is_in_place(&self) -> bool {
        let place = match *self.call {
            Call::Reduce { from, .. }
            | Call::Allreduce { from, .. }
            | Call::Reduce_scatter { from, .. }
            | Call::Reduce_scatter_block { from, .. }
            | Call::Allgather { from, .. }
            | Call::Allgatherv { from, .. }
            | Call::Gather { from, .. }
            | Call::Alltoall { from, .. } => from,
            Call::Scatter { into, .. } => into,
            _ => return false,
        };
        place as usize == self.abi.in_place
    }

    fn root(&self, root: c_int) -> Option<Rank> {
        usize::try_from(root).ok().filter(|root| *root < self.ranks).map(Rank)
    }

    fn part(&self, start: Address, count: c_int, datatype: Handle) -> Option<Part> {
        let datatype = Datatype::of(self.abi, self.abi.clean(datatype))?;
        (count >= 0).then_some(Part { start, count, datatype })
    }

    /// Blocks of bytes as `taken_blocks` places them.
    fn blocks(&self, counts: Counts, starts: Counts, datatype: Handle) -> Option<Blocks> {
        let datatype = Datatype::of(self.abi, self.abi.clean(datatype))?;
        let (lens, starts) = (self.lens(counts)?, self.numbers(starts)?);
        let lens: Vec<usize> = lens.iter().map(|len| len.checked_mul(datatype.size)).collect::<Option<_>>()?;
        let total = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len))?;
        some(total, 1)?;
        let starts = match dense_starts(&datatype, starts) {
            Some(starts) => starts,
            None => packed_starts(&lens),
        };
        Some(Blocks::placed(lens, starts))
    }

    /// The program's array of lengths by rank.
    fn lens(&self, counts: Counts) -> Option<Vec<usize>> {
        self.numbers(counts)?.iter().map(|count| usize::try_from(*count).ok()).collect()
    }

    /// The program's array of integers by rank.
    fn numbers(&self, array: Counts) -> Option<&[c_int]> {
        // SAFETY: MPI requires that length.
        (!array.is_null()).then(|| unsafe { std::slice::from_raw_parts(array, self.ranks) })
    }

    /// A send buffer of `blocks` times the elements; empty if it is in place.
    fn given(
        &self,
        from: Address,
        count: c_int,
        datatype: Handle,
        blocks: usize,
        unpacking: &mut Unpacking,
    ) -> Result<Memory> {
        if from as usize == self.abi.in_place {
            return Ok(Memory::none(byte(self.abi)));
        }
        let part = self.part(from, count, datatype).ok_or(Error(self.abi.error_other))?;
        self.bytes(part, blocks, unpacking, true, false)
    }

    /// A receive buffer of `blocks` times the elements.
    fn taken(&self, part: Part, blocks: usize, unpacking: &mut Unpacking) -> Result<Memory> {
        self.bytes(part, blocks, unpacking, self.is_in_place(), true)
    }

    /// A buffer as bytes: the buffer itself, or a contiguous buffer for packing and unpacking.
    fn bytes(&self, part: Part, blocks: usize, unpacking: &mut Unpacking, pack: bool, unpack: bool) -> Result<Memory> {
        let count = part.count as usize * blocks;
        let len = count * part.datatype.size;
        if part.datatype.is_dense() {
            // SAFETY: the program passes a buffer of that many elements.
            return Ok(unsafe { Memory::new(part.start, len, byte(self.abi)) });
        }
        let mut scratch = Scratch::new(len, byte(self.abi));
        let bytes = scratch.memory();
        unpacking.staging.push(scratch);
        // SAFETY: as above.
        let elements = unsafe { Scattered::new(part.start, count as c_int, part.datatype) };
        if pack {
            elements.pack(bytes.address(), len, self.comm)?;
        }
        if unpack {
            let kept = Kept::new(self.abi, part.datatype)?;
            unpacking.add(bytes, kept.hold(elements));
            unpacking.kept = Some(kept);
        }
        Ok(bytes)
    }

    /// The receive buffer of a call with counts and starts.
    fn taken_blocks(&self, part: Part, counts: Counts, starts: Counts, unpacking: &mut Unpacking) -> Result<Memory> {
        let datatype = part.datatype;
        let wrong = Error(self.abi.error_other);
        let (counts, starts) = (self.numbers(counts).ok_or(wrong)?, self.numbers(starts).ok_or(wrong)?);
        let lens: Vec<usize> = counts.iter().map(|count| *count as usize * datatype.size).collect();
        if let Some(starts) = dense_starts(&datatype, starts) {
            let end = starts.iter().zip(&lens).map(|(start, len)| start + len).max().unwrap_or(0);
            // SAFETY: the program passes a buffer that contains all blocks.
            return Ok(unsafe { Memory::new(part.start, end, byte(self.abi)) });
        }
        let mut scratch = Scratch::new(lens.iter().sum(), byte(self.abi));
        let bytes = scratch.memory();
        unpacking.staging.push(scratch);
        let kept = Kept::new(self.abi, datatype)?;
        for (rank, packed) in packed_starts(&lens).into_iter().enumerate() {
            let start = part.start.wrapping_byte_offset(starts[rank] as isize * datatype.extent);
            // SAFETY: as above.
            let elements = unsafe { Scattered::new(start, counts[rank], datatype) };
            let piece = bytes.part(fishplate_collectives::Slice::new(
                fishplate_collectives::Buffer::Receive,
                packed,
                lens[rank],
            ));
            if rank == self.rank && self.is_in_place() {
                elements.pack(piece.address(), lens[rank], self.comm)?;
            }
            unpacking.add(piece, kept.hold(elements));
        }
        unpacking.kept = Some(kept);
        Ok(bytes)
    }
}

impl Part {
    fn bytes(&self) -> Option<usize> {
        (self.count as usize).checked_mul(self.datatype.size)
    }
}

/// A length, unless `times` it is zero or exceeds [`MAX_COUNT`].
fn some(len: usize, times: usize) -> Option<usize> {
    (1..=MAX_COUNT).contains(&len.checked_mul(times)?).then_some(len)
}

/// Offsets of blocks in bytes, if the blocks can be received directly into the buffer.
fn dense_starts(datatype: &Datatype, starts: &[c_int]) -> Option<Vec<usize>> {
    if !datatype.is_dense() {
        return None;
    }
    starts.iter().map(|start| usize::try_from(*start).ok().map(|start| start * datatype.size)).collect()
}

/// Offsets of consecutive blocks of these lengths.
fn packed_starts(lens: &[usize]) -> Vec<usize> {
    let ends = lens.iter().scan(0, |end, len| {
        *end += len;
        Some(*end)
    });
    ends.zip(lens).map(|(end, len)| end - len).collect()
}
