// How often MPI_Dist_graph_create counts wrong: MPICH 5.0.2 probes for a message from anybody and then receives one
// from anybody, which may be another rank's (tests/mpi/test_mpi4py.py).
#include "common.h"

enum { RUNS = 2000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), wrong = 0, all;
    int degree = 3, neighbours[] = {(rank + size - 1) % size, rank, (rank + 1) % size};
    for (int run = 0; run < RUNS; run++) {
        MPI_Comm graph;
        int in, out, weighted;
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, neighbours, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
        MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
        wrong += in != degree || out != degree;
        MPI_Comm_free(&graph);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d wrong\n", all, RUNS * size);
    MPI_Finalize();
}
