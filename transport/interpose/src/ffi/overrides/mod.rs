//! The functions that replace MPI's while schedules may be in use.
//!
//! [`super::entry`] calls them. They have the names, arguments and rules for callers of MPI's functions. They call the MPI
//! library ([`super::functions`]), [`super::dispatch`] for collective operations, and [`crate::progress`] for active schedules.

#![allow(non_snake_case)]

use std::ffi::c_void;

mod collective;
mod completion;
mod lifetime;
mod messages;

/// Defines the lookup of a function by its name.
macro_rules! overrides {
    ($($module:ident: $($name:ident),*;)*) => {
        /// The override of MPI's function of this name.
        pub fn find(name: &str) -> Option<*const c_void> {
            match name {
                $($(stringify!($name) => Some($module::$name as *const c_void),)*)*
                _ => None,
            }
        }
    };
}

overrides! {
    lifetime: MPI_Comm_dup, MPI_Comm_dup_with_info, MPI_Comm_create, MPI_Comm_create_group, MPI_Comm_split,
        MPI_Comm_split_type, MPI_Cart_create, MPI_Win_fence, MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Comm_free,
        MPI_Comm_disconnect;
    messages: MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Recv, MPI_Mrecv, MPI_Sendrecv_replace, MPI_Sendrecv;
    completion: MPI_Wait, MPI_Waitall, MPI_Waitany, MPI_Waitsome, MPI_Probe, MPI_Mprobe, MPI_Test, MPI_Testall,
        MPI_Testany, MPI_Testsome, MPI_Request_get_status, MPI_Iprobe, MPI_Improbe;
    collective: MPI_Barrier, MPI_Ibarrier, MPI_Bcast, MPI_Ibcast, MPI_Reduce, MPI_Ireduce, MPI_Allreduce,
        MPI_Iallreduce, MPI_Allgather, MPI_Iallgather, MPI_Allgatherv, MPI_Iallgatherv, MPI_Gather, MPI_Igather,
        MPI_Scatter, MPI_Iscatter, MPI_Alltoall, MPI_Ialltoall, MPI_Reduce_scatter, MPI_Ireduce_scatter,
        MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Gatherv, MPI_Igatherv, MPI_Scatterv, MPI_Iscatterv,
        MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallw, MPI_Ialltoallw, MPI_Scan, MPI_Iscan, MPI_Exscan, MPI_Iexscan;
}
