// Rank 1 sends bursts and then stays away from MPI until everything has arrived: nothing that was sent may wait for its
// return. Rank 0 says so by the file that the argument names.
#include "common.h"

#include <time.h>
#include <unistd.h>

// Longer bursts than anything sends at once, of messages that all fit into what is held back.
enum { COUNT = 40, SIZE = 100, WAIT_S = 60 };

static void stay_away_until(const char *file)
{
    time_t start = time(NULL);
    while (access(file, F_OK) != 0)
        expect(time(NULL) - start < WAIT_S, "nothing more has arrived in %d s", WAIT_S);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc == 2, "one argument is needed");
    unsigned char bytes[SIZE];
    // The first exchange connects.
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        if (rank_of(MPI_COMM_WORLD) == 1) {
            fill(bytes, SIZE, (uint64_t)i);
            MPI_Send(bytes, SIZE, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        } else if (rank_of(MPI_COMM_WORLD) == 0) {
            MPI_Recv(bytes, SIZE, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            verify(bytes, SIZE, (uint64_t)i);
        }
    }
    if (rank_of(MPI_COMM_WORLD) == 0) {
        FILE *file = fopen(argv[1], "w");
        expect(file != NULL && fclose(file) == 0, "%s cannot be written", argv[1]);
    } else {
        stay_away_until(argv[1]);
    }
    all_right();
}
