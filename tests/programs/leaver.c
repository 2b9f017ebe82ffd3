// Ranks that leave without MPI_Finalize, as some programs do: what was sent and received still ends.
// Usage: leaver [STATUS]: with a status the last rank exits with it, while the first waits for another message of it.
#include "common.h"

enum { TAG = 6, MESSAGES = 20 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int status = argc > 1 ? atoi(argv[1]) : 0;
    // Whole, with a handshake, striped.
    static const size_t sizes[] = {65536, 300000, 4000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *bytes = allocate(sizes[i]);
        for (uint64_t key = 0; key < MESSAGES; key++)
            if (rank_of(MPI_COMM_WORLD) == 0) {
                fill(bytes, sizes[i], key);
                MPI_Send(bytes, (int)sizes[i], MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            } else {
                MPI_Recv(bytes, (int)sizes[i], MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                verify(bytes, sizes[i], key);
            }
        free(bytes);
    }
    if (status != 0 && rank_of(MPI_COMM_WORLD) == 0) {
        unsigned char never;
        MPI_Recv(&never, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank_of(MPI_COMM_WORLD) == 0)
        puts("all right");
    return status;
}
