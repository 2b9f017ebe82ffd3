// Collectives of small messages by more ranks than cores.
#include "common.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int *out = allocate(sizeof *out * (size_t)size), *in = allocate(sizeof *in * (size_t)size);
    for (int round = 0; round < ROUNDS; round++) {
        for (int peer = 0; peer < size; peer++)
            out[peer] = (round * size + rank) * size + peer;
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        for (int peer = 0; peer < size; peer++)
            expect(in[peer] == (round * size + peer) * size + rank, "alltoall: %d from rank %d", in[peer], peer);
        int sum, value = rank + round;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(sum == size * round + size * (size - 1) / 2, "allreduce: %d", sum);
    }
    free(out);
    free(in);
    all_right();
}
