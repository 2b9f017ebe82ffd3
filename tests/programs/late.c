// late met|strangers SECONDS SIZE... : rank 0 sends messages of these sizes to every other rank and ends; these sleep, and
// receive. Ranks have met before, or not.
#include "common.h"

#include <unistd.h>

enum { TAG = 9 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc > 3, "usage: late met|strangers SECONDS SIZE...");
    int ranks = size_of(MPI_COMM_WORLD), me = rank_of(MPI_COMM_WORLD);
    unsigned seconds = (unsigned)strtoul(argv[2], NULL, 10);
    if (strcmp(argv[1], "met") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (me > 0)
        for (unsigned left = seconds; left > 0;)
            left = sleep(left);
    for (int at = 3; at < argc; at++) {
        size_t size = strtoull(argv[at], NULL, 10);
        unsigned char *bytes = allocate(size);
        for (int other = 1; me == 0 && other < ranks; other++) {
            fill(bytes, size, (uint64_t)(at * ranks + other));
            MPI_Send(bytes, (int)size, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        }
        if (me > 0) {
            MPI_Recv(bytes, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            verify(bytes, size, (uint64_t)(at * ranks + me));
        }
        free(bytes);
    }
    if (me > 0)
        printf("rank %d has all\n", me);
    MPI_Finalize();
    return 0;
}
