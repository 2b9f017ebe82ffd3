"""Tests of mpi4py's suite that are left out, and why. Nothing of what is named here is Fishplate's doing: all fail the
same way with MPICH 5.0.2 over libfabric's own tcp provider.
"""

# Pattern, as for the suite's option -x -> reason.
TESTS = {
    "test_comm_topo.*World*.testDistgraphcomm": (
        "MPI_Dist_graph_create of MPICH 5.0.2 takes the length of a message from a probe of any source and then "
        "receives from any source: with two messages there, it may be the other one, and the degree comes out wrong. "
        "tests/programs/dist_graph.c counts how often: over tcp too, only less often, since there the messages of "
        "other hosts arrive later than those of the same host."
    ),
}

# The same, left out only with more than two ranks.
TESTS_OF_TWO = {
    "test_rma.*testStartCompletePostTest": (
        "MPI_Win_test of MPICH 5.0.2 looks before it takes in what has come. The test expects it to know of what the "
        "first rank said before a barrier, but a rank hears of that from the first one, and that the barrier has ended "
        "from others: in shared memory, or over other connections, perhaps sooner. tests/programs/win_test.c counts how "
        "often: with four ranks past MPICH's shared memory, over two rails of two streams, 1 and 3 times in 300."
    ),
}

# Module -> reason.
MODULES = {
    "test_mpiabi": "compares Fortran's types with those of MPI's ABI; MPICH from PyPI is built without Fortran",
}
