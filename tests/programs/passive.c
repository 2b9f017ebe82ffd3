// passive FOLDER SIZE... : rank 1 computes, and calls MPI again only when rank 0 has come back from a put of each size into
// its window and of gets of the same: it is told by a file in FOLDER. Prints what a get takes.
#include "told.h"

enum { TIMES = 20 };

// Mean time of a get with its flush.
static void time_gets(unsigned char *bytes, size_t size, MPI_Win window)
{
    double start = MPI_Wtime();
    for (int i = 0; i < TIMES; i++) {
        MPI_Get(bytes, (int)size, MPI_BYTE, 1, 0, (int)size, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
    printf("%zu bytes: %.1f us\n", size, (MPI_Wtime() - start) / TIMES * 1e6);
}

// The second half of the window has what rank 0 gets.
static void put_and_get(const char *folder, int run, unsigned char *bytes, size_t size, MPI_Win window)
{
    fill(bytes, size, (uint64_t)run);
    MPI_Put(bytes, (int)size, MPI_BYTE, 1, 0, (int)size, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    memset(bytes, 0, size);
    MPI_Get(bytes, (int)size, MPI_BYTE, 1, 0, (int)size, MPI_BYTE, window);
    MPI_Win_flush(1, window);
    verify(bytes, size, (uint64_t)run);
    MPI_Request request;
    MPI_Rget(bytes, (int)size, MPI_BYTE, 1, (MPI_Aint)size, (int)size, MPI_BYTE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    verify(bytes, size, (uint64_t)run + 1000);
    time_gets(bytes, size, window);
    tell(folder, run);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc > 2, "usage: passive FOLDER SIZE...");
    int rank = rank_of(MPI_COMM_WORLD);
    for (int run = 0; run < argc - 2; run++) {
        size_t size = strtoull(argv[run + 2], NULL, 10);
        unsigned char *bytes = allocate(size), *base;
        MPI_Win window;
        MPI_Win_allocate((MPI_Aint)(2 * size), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        memset(base, 0, size);
        fill(base + size, size, (uint64_t)run + 1000);
        MPI_Win_lock_all(0, window);
        // Both have locked, and have talked of it.
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            put_and_get(argv[1], run, bytes, size, window);
        else if (rank == 1)
            compute_until_told(argv[1], run, "a put or get", size);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock_all(window);
        if (rank == 1)
            verify(base, size, (uint64_t)run);
        MPI_Win_free(&window);
        free(bytes);
    }
    all_right();
    return 0;
}
