// How often MPI_Win_test does not know of an access epoch that has ended before a barrier: MPICH 5.0.2 looks before it
// takes in what has come (tests/mpi/test_mpi4py.py). Rank 0 has access to the windows of all others.
#include "common.h"

enum { RUNS = 2000 };

static void access_epoch(MPI_Win win, MPI_Group others)
{
    MPI_Win_start(others, 0, win);
    MPI_Win_complete(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Whether it is not known that it has ended.
static int exposure_epoch(MPI_Win win, MPI_Group first)
{
    int ended;
    MPI_Win_post(first, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_test(win, &ended);
    if (!ended)
        MPI_Win_wait(win);
    return !ended;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), root = 0, missed = 0, all;
    double memory = 0;
    MPI_Win win;
    MPI_Group world, first, others;
    MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &root, &first);
    MPI_Group_excl(world, 1, &root, &others);
    for (int run = 0; run < RUNS; run++) {
        if (rank == root)
            access_epoch(win, others);
        else
            missed += exposure_epoch(win, first);
    }
    MPI_Reduce(&missed, &all, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root)
        printf("%d of %d missed\n", all, RUNS * (size - 1));
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Group_free(&others);
    MPI_Win_free(&win);
    MPI_Finalize();
}
