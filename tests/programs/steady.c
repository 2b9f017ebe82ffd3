// Exchanges checked messages with all other ranks until the file named by its argument is there. Says when it is
// connected, so that others can begin to disturb it.
#include "common.h"

#include <unistd.h>

enum { MOST = 1000000 };

static size_t length(uint64_t round)
{
    static const size_t lengths[] = {4, 1000, 20000, 200000, MOST};
    return lengths[round % (sizeof lengths / sizeof *lengths)];
}

static void exchange(uint64_t round, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    uint64_t first = round * (uint64_t)size;
    fill(out, length(round), first + (uint64_t)rank);
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        MPI_Sendrecv(out, (int)length(round), MPI_BYTE, to, 0, in, MOST, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        verify(in, length(round), first + (uint64_t)from);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc == 2, "one argument is needed");
    unsigned char *out = allocate(MOST), *in = allocate(MOST);
    int stop = 0;
    for (uint64_t round = 0; !stop; round++) {
        exchange(round, out, in);
        if (round == 0 && rank_of(MPI_COMM_WORLD) == 0) {
            puts("connected");
            fflush(stdout);
        }
        stop = access(argv[1], F_OK) == 0;
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(out);
    free(in);
    all_right();
}
