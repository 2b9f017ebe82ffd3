// MPI_Allreduce over all ranks: sums of 4-byte integers.
#include "reduction.h"

static const struct program program = {
    .name = "allreduce",
    .purpose = "time of MPI_Allreduce, sums of 4-byte integers over all ranks, in us",
    .takes = COLLECTIVE_TAKES,
    .default_sizes = "4:1M",
    .size_unit = sizeof(uint32_t),
};

static void run(struct collective *collective)
{
    MPI_Allreduce(collective->send.bytes, collective->receive.bytes, reduction_words(collective),
                  MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Allreduce of so many bytes, mean over the ranks",
        .run = run,
        .prepare = reduction_prepare,
        .verify = reduction_verify,
    };
    return collective_program(&program, &pattern, argc, argv);
}
