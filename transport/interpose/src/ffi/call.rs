//! A collective call of the program, with its arguments.

#![allow(non_snake_case)]

use std::ffi::c_int;

use super::functions::{Address, Counts, Handle, Int, Slot, functions};

/// Passes the collective operations of MPI to a macro. A line contains the names of the blocking and of the non-blocking
/// function, without `MPI_`, and the arguments.
macro_rules! collective_table {
    ($define:ident) => {
        $define! {
            Barrier, Ibarrier (comm: Handle);
            Bcast, Ibcast (buffer: Address, count: Int, datatype: Handle, root: Int, comm: Handle);
            Reduce, Ireduce (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, root: Int,
                             comm: Handle);
            Allreduce, Iallreduce (from: Address, into: Address, count: Int, datatype: Handle, op: Handle,
                                   comm: Handle);
            Allgather, Iallgather (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int,
                                   datatype: Handle, comm: Handle);
            Allgatherv, Iallgatherv (from: Address, out_count: Int, out_type: Handle, into: Address, counts: Counts,
                                     starts: Counts, datatype: Handle, comm: Handle);
            Gather, Igather (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int,
                             datatype: Handle, root: Int, comm: Handle);
            Scatter, Iscatter (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int,
                               datatype: Handle, root: Int, comm: Handle);
            Alltoall, Ialltoall (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int,
                                 datatype: Handle, comm: Handle);
            Reduce_scatter, Ireduce_scatter (from: Address, into: Address, counts: Counts, datatype: Handle,
                                             op: Handle, comm: Handle);
            Reduce_scatter_block, Ireduce_scatter_block (from: Address, into: Address, count: Int, datatype: Handle,
                                                         op: Handle, comm: Handle);
            // The following calls are always native; they only let active schedules make progress.
            Gatherv, Igatherv (from: Address, out_count: Int, out_type: Handle, into: Address, counts: Counts,
                               starts: Counts, datatype: Handle, root: Int, comm: Handle);
            Scatterv, Iscatterv (from: Address, counts: Counts, starts: Counts, out_type: Handle, into: Address,
                                 count: Int, datatype: Handle, root: Int, comm: Handle);
            Alltoallv, Ialltoallv (from: Address, out_counts: Counts, out_starts: Counts, out_type: Handle,
                                   into: Address, counts: Counts, starts: Counts, datatype: Handle, comm: Handle);
            Alltoallw, Ialltoallw (from: Address, out_counts: Counts, out_starts: Counts, out_types: Address,
                                   into: Address, counts: Counts, starts: Counts, types: Address, comm: Handle);
            Scan, Iscan (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
            Exscan, Iexscan (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
        }
    };
}
pub(super) use collective_table;

/// Defines a variant of [`Call`] for each operation, and the MPI library's two functions for it.
macro_rules! define_calls {
    ($($blocking:ident, $started:ident ($($argument:ident: $type:ty),*);)*) => {
        functions! {
            $($blocking ($($argument: $type),*);)*
            $($started ($($argument: $type,)* request: Slot);)*
        }

        /// A collective call with the program's arguments.
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        pub enum Call {
            $(#[doc = concat!("`MPI_", stringify!($blocking), "`.")] $blocking { $($argument: $type),* },)*
        }

        impl Call {
            pub fn comm(&self) -> Handle {
                match *self { $(Call::$blocking { comm, .. } => comm,)* }
            }

            /// Executes the call by the MPI's blocking function.
            pub fn native_blocking(&self) -> c_int {
                match *self {
                    // SAFETY: the program called the function of that name with these arguments.
                    $(Call::$blocking { $($argument),* } => unsafe { $blocking($($argument),*) },)*
                }
            }

            /// Starts the call by the MPI's non-blocking function.
            ///
            /// # Safety
            /// `request` must point to a handle.
            pub unsafe fn native_nonblocking(&self, request: Slot) -> c_int {
                match *self {
                    // SAFETY: as above; the place is the caller's promise.
                    $(Call::$blocking { $($argument),* } => unsafe { $started($($argument,)* request) },)*
                }
            }
        }
    };
}

collective_table!(define_calls);

impl Call {
    /// Whether schedules for the operation exist. There are none for operations in which a rank knows only its own lengths: there
    /// an MPI library already sends each byte over the WAN once, in one crossing, which a schedule would not improve.
    pub fn has_schedules(&self) -> bool {
        matches!(
            self,
            Call::Barrier { .. }
                | Call::Bcast { .. }
                | Call::Reduce { .. }
                | Call::Allreduce { .. }
                | Call::Allgather { .. }
                | Call::Allgatherv { .. }
                | Call::Gather { .. }
                | Call::Scatter { .. }
                | Call::Alltoall { .. }
                | Call::Reduce_scatter { .. }
                | Call::Reduce_scatter_block { .. }
        )
    }
}
