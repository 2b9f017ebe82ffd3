//! The forms with large counts, which some programs always use, as mpi4py does. Counts that fit in an integer take the
//! way of the others; larger ones are the MPI's.

use std::ffi::c_int;

use super::collective::*;
use super::messages::{MPI_Mrecv, MPI_Recv, MPI_Rsend, MPI_Send, MPI_Sendrecv, MPI_Ssend};
use crate::ffi::abi::ERROR_COUNT;
use crate::ffi::functions::{self as mpi, Address, Int, Slot};
use crate::ffi::handle::Handle;
use crate::ffi::library;

/// MPI_Count.
type Count = i64;

/// An argument of the form with integers.
trait Narrow {
    type Narrowed;
    fn narrow(self) -> Option<Self::Narrowed>;
}

impl Narrow for Count {
    type Narrowed = c_int;
    fn narrow(self) -> Option<c_int> {
        c_int::try_from(self).ok()
    }
}

macro_rules! as_it_is {
    ($($type:ty),*) => {$(
        impl Narrow for $type {
            type Narrowed = $type;
            fn narrow(self) -> Option<$type> {
                Some(self)
            }
        }
    )*};
}

as_it_is!(Int, Handle, Address);

macro_rules! large {
    ($($ours:ident = $symbol:literal, as $small:ident ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("In front of MPI's `", stringify!($ours), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        pub unsafe extern "C" fn $ours($($argument: $type),*) -> c_int {
            let narrow = || Some(($($argument.narrow()?,)*));
            if let Some(($($argument,)*)) = narrow() {
                // SAFETY: the program's arguments, handed on.
                return unsafe { $small($($argument),*) };
            }
            let Some(address) = library::symbol($symbol) else { return ERROR_COUNT };
            // SAFETY: MPI's function of this name takes these arguments.
            let function: unsafe extern "C" fn($($type),*) -> c_int = unsafe { std::mem::transmute(address) };
            // SAFETY: as above.
            unsafe { function($($argument),*) }
        }
    )*};
}

large! {
    MPI_Send_c = c"PMPI_Send_c", as MPI_Send
        (from: Address, count: Count, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Ssend_c = c"PMPI_Ssend_c", as MPI_Ssend
        (from: Address, count: Count, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Rsend_c = c"PMPI_Rsend_c", as MPI_Rsend
        (from: Address, count: Count, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Recv_c = c"PMPI_Recv_c", as MPI_Recv
        (into: Address, count: Count, datatype: Handle, from: Int, tag: Int, comm: Handle, status: Address);
    MPI_Mrecv_c = c"PMPI_Mrecv_c", as MPI_Mrecv
        (into: Address, count: Count, datatype: Handle, message: Slot, status: Address);
    MPI_Sendrecv_c = c"PMPI_Sendrecv_c", as MPI_Sendrecv
        (out: Address, out_count: Count, out_type: Handle, to: Int, out_tag: Int, into: Address, in_count: Count,
         in_type: Handle, from: Int, in_tag: Int, comm: Handle, status: Address);

    MPI_Bcast_c = c"PMPI_Bcast_c", as MPI_Bcast
        (buffer: Address, count: Count, datatype: Handle, root: Int, comm: Handle);
    MPI_Ibcast_c = c"PMPI_Ibcast_c", as MPI_Ibcast
        (buffer: Address, count: Count, datatype: Handle, root: Int, comm: Handle, request: Slot);
    MPI_Reduce_c = c"PMPI_Reduce_c", as MPI_Reduce
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, root: Int, comm: Handle);
    MPI_Ireduce_c = c"PMPI_Ireduce_c", as MPI_Ireduce
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, root: Int, comm: Handle,
         request: Slot);
    MPI_Allreduce_c = c"PMPI_Allreduce_c", as MPI_Allreduce
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, comm: Handle);
    MPI_Iallreduce_c = c"PMPI_Iallreduce_c", as MPI_Iallreduce
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, comm: Handle, request: Slot);
    MPI_Reduce_scatter_block_c = c"PMPI_Reduce_scatter_block_c", as MPI_Reduce_scatter_block
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, comm: Handle);
    MPI_Ireduce_scatter_block_c = c"PMPI_Ireduce_scatter_block_c", as MPI_Ireduce_scatter_block
        (from: Address, into: Address, count: Count, datatype: Handle, op: Handle, comm: Handle, request: Slot);
    MPI_Allgather_c = c"PMPI_Allgather_c", as MPI_Allgather
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, comm: Handle);
    MPI_Iallgather_c = c"PMPI_Iallgather_c", as MPI_Iallgather
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, comm: Handle,
         request: Slot);
    MPI_Gather_c = c"PMPI_Gather_c", as MPI_Gather
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, root: Int,
         comm: Handle);
    MPI_Igather_c = c"PMPI_Igather_c", as MPI_Igather
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, root: Int,
         comm: Handle, request: Slot);
    MPI_Scatter_c = c"PMPI_Scatter_c", as MPI_Scatter
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, root: Int,
         comm: Handle);
    MPI_Iscatter_c = c"PMPI_Iscatter_c", as MPI_Iscatter
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, root: Int,
         comm: Handle, request: Slot);
    MPI_Alltoall_c = c"PMPI_Alltoall_c", as MPI_Alltoall
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, comm: Handle);
    MPI_Ialltoall_c = c"PMPI_Ialltoall_c", as MPI_Ialltoall
        (from: Address, out_count: Count, out_type: Handle, into: Address, count: Count, datatype: Handle, comm: Handle,
         request: Slot);
}

/// In front of MPI's `MPI_Allgatherv_c`.
///
/// # Safety
/// As MPI says.
pub unsafe extern "C" fn MPI_Allgatherv_c(
    from: Address,
    out_count: Count,
    out_type: Handle,
    into: Address,
    counts: *const Count,
    starts: *const isize,
    datatype: Handle,
    comm: Handle,
) -> c_int {
    if !counts.is_null() && !starts.is_null() {
        // SAFETY: MPI asks for arrays with a number for each rank.
        let counts = narrowed(comm, &|rank| unsafe { *counts.add(rank) });
        // SAFETY: as above.
        let starts = narrowed(comm, &|rank| unsafe { *starts.add(rank) as i64 });
        if let (Some(out_count), Some(counts), Some(starts)) = (out_count.narrow(), counts, starts) {
            let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
            // SAFETY: the program's arguments, handed on.
            return unsafe { MPI_Allgatherv(from, out_count, out_type, into, counts, starts, datatype, comm) };
        }
    }
    let Some(address) = library::symbol(c"PMPI_Allgatherv_c") else { return ERROR_COUNT };
    type Function =
        unsafe extern "C" fn(Address, Count, Handle, Address, *const Count, *const isize, Handle, Handle) -> c_int;
    // SAFETY: MPI's function of this name takes these arguments.
    let function: Function = unsafe { std::mem::transmute(address) };
    // SAFETY: as above.
    unsafe { function(from, out_count, out_type, into, counts, starts, datatype, comm) }
}

/// In front of MPI's `MPI_Reduce_scatter_c`.
///
/// # Safety
/// As MPI says.
pub unsafe extern "C" fn MPI_Reduce_scatter_c(
    from: Address,
    into: Address,
    counts: *const Count,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    if !counts.is_null()
        // SAFETY: MPI asks for an array with a number for each rank.
        && let Some(counts) = narrowed(comm, &|rank| unsafe { *counts.add(rank) })
    {
        // SAFETY: the program's arguments, handed on.
        return unsafe { MPI_Reduce_scatter(from, into, counts.as_ptr(), datatype, op, comm) };
    }
    let Some(address) = library::symbol(c"PMPI_Reduce_scatter_c") else { return ERROR_COUNT };
    type Function = unsafe extern "C" fn(Address, Address, *const Count, Handle, Handle, Handle) -> c_int;
    // SAFETY: MPI's function of this name takes these arguments.
    let function: Function = unsafe { std::mem::transmute(address) };
    // SAFETY: as above.
    unsafe { function(from, into, counts, datatype, op, comm) }
}

/// A number for each rank, if all fit.
fn narrowed(comm: Handle, at: &dyn Fn(usize) -> i64) -> Option<Vec<c_int>> {
    let mut ranks = 0;
    // SAFETY: the program's communicator, and a place for a number.
    let known = unsafe { mpi::comm_size(comm, &mut ranks) } == 0;
    if !known {
        return None;
    }
    (0..ranks as usize).map(|rank| at(rank).narrow()).collect()
}
