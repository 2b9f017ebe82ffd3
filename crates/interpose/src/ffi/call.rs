//! Collective calls of the program.

use std::ffi::{c_int, c_void};

use super::abi::Handle;
use super::functions::{Address, Counts, Int, Slot, functions};

/// Defines a variant of [`Call`] for each operation, the MPI library's two functions for it, and ours in front of them.
macro_rules! calls {
    ($($call:ident: $ours:ident, $ours_started:ident,
       $native:ident = $symbol:literal, $started:ident = $started_symbol:literal,
       ($($argument:ident: $type:ty),*);)*) => {
        functions! {
            $($native = $symbol ($($argument: $type),*);)*
            $($started = $started_symbol ($($argument: $type,)* request: Slot);)*
        }

        /// A collective call with its arguments, as the program gives them.
        #[derive(Clone, Copy)]
        pub enum Call {
            $(#[doc = concat!("`", stringify!($ours), "`.")] $call { $($argument: $type),* },)*
        }

        impl Call {
            /// The communicator that it is on.
            pub fn comm(&self) -> Handle {
                match *self { $(Call::$call { comm, .. } => comm,)* }
            }

            /// Has the MPI do it.
            pub fn native(&self) -> c_int {
                match *self {
                    // SAFETY: the program has called the function of that name with these arguments.
                    $(Call::$call { $($argument),* } => unsafe { $native($($argument),*) },)*
                }
            }

            /// Has the MPI start it.
            ///
            /// # Safety
            /// `request` must be a place for a handle.
            pub unsafe fn start_native(&self, request: Slot) -> c_int {
                match *self {
                    // SAFETY: as above; the place is the caller's promise.
                    $(Call::$call { $($argument),* } => unsafe { $started($($argument,)* request) },)*
                }
            }
        }

        $(
            #[doc = concat!("In front of MPI's `", stringify!($ours), "`.")]
            ///
            /// # Safety
            /// As MPI says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $ours($($argument: $type),*) -> c_int {
                super::enter::blocking(&Call::$call { $($argument),* })
            }

            #[doc = concat!("In front of MPI's `", stringify!($ours_started), "`.")]
            ///
            /// # Safety
            /// As MPI says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $ours_started($($argument: $type,)* request: Slot) -> c_int {
                // SAFETY: MPI's rules for the caller of this function.
                unsafe { super::enter::nonblocking(&Call::$call { $($argument),* }, request) }
            }
        )*
    };
}

impl Call {
    /// Whether there are schedules for it. There are none where a rank knows only its own part of the lengths: an MPI sends
    /// each byte over the WAN once there, in one crossing, and so would they.
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
                | Call::ReduceScatter { .. }
                | Call::ReduceScatterBlock { .. }
        )
    }
}

calls! {
    Barrier: MPI_Barrier, MPI_Ibarrier, barrier = c"PMPI_Barrier", ibarrier = c"PMPI_Ibarrier", (comm: Handle);
    Bcast: MPI_Bcast, MPI_Ibcast, bcast = c"PMPI_Bcast", ibcast = c"PMPI_Ibcast",
        (buffer: Address, count: Int, datatype: Handle, root: Int, comm: Handle);
    Reduce: MPI_Reduce, MPI_Ireduce, reduce = c"PMPI_Reduce", ireduce = c"PMPI_Ireduce",
        (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle);
    Allreduce: MPI_Allreduce, MPI_Iallreduce, allreduce = c"PMPI_Allreduce", iallreduce = c"PMPI_Iallreduce",
        (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
    Allgather: MPI_Allgather, MPI_Iallgather, allgather = c"PMPI_Allgather", iallgather = c"PMPI_Iallgather",
        (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int, datatype: Handle, comm: Handle);
    Allgatherv: MPI_Allgatherv, MPI_Iallgatherv, allgatherv = c"PMPI_Allgatherv", iallgatherv = c"PMPI_Iallgatherv",
        (from: Address, out_count: Int, out_type: Handle, into: Address, counts: Counts, starts: Counts,
         datatype: Handle, comm: Handle);
    Gather: MPI_Gather, MPI_Igather, gather = c"PMPI_Gather", igather = c"PMPI_Igather",
        (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int, datatype: Handle, root: Int,
         comm: Handle);
    Scatter: MPI_Scatter, MPI_Iscatter, scatter = c"PMPI_Scatter", iscatter = c"PMPI_Iscatter",
        (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int, datatype: Handle, root: Int,
         comm: Handle);
    Alltoall: MPI_Alltoall, MPI_Ialltoall, alltoall = c"PMPI_Alltoall", ialltoall = c"PMPI_Ialltoall",
        (from: Address, out_count: Int, out_type: Handle, into: Address, count: Int, datatype: Handle, comm: Handle);
    ReduceScatter: MPI_Reduce_scatter, MPI_Ireduce_scatter,
        reduce_scatter = c"PMPI_Reduce_scatter", ireduce_scatter = c"PMPI_Ireduce_scatter",
        (from: Address, into: Address, counts: Counts, datatype: Handle, op: Handle, comm: Handle);
    ReduceScatterBlock: MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
        reduce_scatter_block = c"PMPI_Reduce_scatter_block", ireduce_scatter_block = c"PMPI_Ireduce_scatter_block",
        (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
    // The rest is always the MPI's; only schedules under way get on meanwhile.
    Gatherv: MPI_Gatherv, MPI_Igatherv, gatherv = c"PMPI_Gatherv", igatherv = c"PMPI_Igatherv",
        (from: Address, out_count: Int, out_type: Handle, into: Address, counts: Counts, starts: Counts,
         datatype: Handle, root: Int, comm: Handle);
    Scatterv: MPI_Scatterv, MPI_Iscatterv, scatterv = c"PMPI_Scatterv", iscatterv = c"PMPI_Iscatterv",
        (from: Address, counts: Counts, starts: Counts, out_type: Handle, into: Address, count: Int, datatype: Handle,
         root: Int, comm: Handle);
    Alltoallv: MPI_Alltoallv, MPI_Ialltoallv, alltoallv = c"PMPI_Alltoallv", ialltoallv = c"PMPI_Ialltoallv",
        (from: Address, out_counts: Counts, out_starts: Counts, out_type: Handle, into: Address, counts: Counts,
         starts: Counts, datatype: Handle, comm: Handle);
    Alltoallw: MPI_Alltoallw, MPI_Ialltoallw, alltoallw = c"PMPI_Alltoallw", ialltoallw = c"PMPI_Ialltoallw",
        (from: Address, out_counts: Counts, out_starts: Counts, out_types: Address, into: Address, counts: Counts,
         starts: Counts, types: Address, comm: Handle);
    Scan: MPI_Scan, MPI_Iscan, scan = c"PMPI_Scan", iscan = c"PMPI_Iscan",
        (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
    Exscan: MPI_Exscan, MPI_Iexscan, exscan = c"PMPI_Exscan", iexscan = c"PMPI_Iexscan",
        (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, comm: Handle);
}
