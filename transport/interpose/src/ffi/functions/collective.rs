//! The collective functions of the MPI library that schedules use.

use std::ffi::{c_int, c_void};

use super::{Address, Counts, Int, Slot};
use crate::ffi::handle::Handle;

functions! {
    ibarrier = c"PMPI_Ibarrier" (comm: Handle, request: Slot);
    ibcast = c"PMPI_Ibcast" (buffer: Address, count: Int, datatype: Handle, root: Int, comm: Handle, request: Slot);
    ireduce = c"PMPI_Ireduce" (from: Address, into: Address, count: Int, datatype: Handle, op: Handle, root: Int,
                               comm: Handle, request: Slot);
    ireduce_scatter = c"PMPI_Ireduce_scatter" (from: Address, into: Address, counts: Counts, datatype: Handle,
                                               op: Handle, comm: Handle, request: Slot);
    iallgatherv = c"PMPI_Iallgatherv" (from: Address, count: Int, out_type: Handle, into: Address, counts: Counts,
                                       starts: Counts, datatype: Handle, comm: Handle, request: Slot);
    igatherv = c"PMPI_Igatherv" (from: Address, count: Int, out_type: Handle, into: Address, counts: Counts,
                                 starts: Counts, datatype: Handle, root: Int, comm: Handle, request: Slot);
    iscatterv = c"PMPI_Iscatterv" (from: Address, counts: Counts, starts: Counts, out_type: Handle, into: Address,
                                   count: Int, datatype: Handle, root: Int, comm: Handle, request: Slot);
    ialltoallv = c"PMPI_Ialltoallv" (from: Address, out_counts: Counts, out_starts: Counts, out_type: Handle,
                                     into: Address, counts: Counts, starts: Counts, datatype: Handle, comm: Handle,
                                     request: Slot);
}
