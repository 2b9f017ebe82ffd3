//! The collective operations of MPI: names and arguments.

/// Passes the table to a macro. A line contains the name of the call, MPI's two functions, the two functions of the MPI
/// library with their symbols, and the arguments.
macro_rules! collective_table {
    ($define:ident) => {
        $define! {
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
            // The following calls are always native; they only let active schedules make progress.
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
    };
}
pub(super) use collective_table;
