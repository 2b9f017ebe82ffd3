// away FOLDER unexpected|posted SIZE... : rank 1 computes, and calls MPI again only when rank 0 has come back from a send of
// each size: it is told by a file in FOLDER. Its receives are posted before, or after.
#include "told.h"

enum { TAG = 7 };

static void send_and_tell(const char *folder, int run, unsigned char *bytes, size_t size)
{
    fill(bytes, size, (uint64_t)run);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(bytes, (int)size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    tell(folder, run);
}

static void receive_late(const char *folder, bool is_posted, int run, unsigned char *bytes, size_t size)
{
    MPI_Request request;
    if (is_posted)
        MPI_Irecv(bytes, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    compute_until_told(folder, run, "a send", size);
    if (!is_posted)
        MPI_Irecv(bytes, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    verify(bytes, size, (uint64_t)run);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc > 3, "usage: away FOLDER unexpected|posted SIZE...");
    bool is_posted = strcmp(argv[2], "posted") == 0;
    for (int run = 0; run < argc - 3; run++) {
        size_t size = strtoull(argv[run + 3], NULL, 10);
        unsigned char *bytes = allocate(size);
        if (rank_of(MPI_COMM_WORLD) == 0)
            send_and_tell(argv[1], run, bytes, size);
        else
            receive_late(argv[1], is_posted, run, bytes, size);
        free(bytes);
    }
    all_right();
    return 0;
}
