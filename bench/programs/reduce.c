// MPI_Reduce to rank 0: sums of 4-byte integers.
#include "reduction.h"

static const struct program program = {
    .name = "reduce",
    .purpose = "time of MPI_Reduce to rank 0, sums of 4-byte integers, in us",
    .takes = COLLECTIVE_TAKES,
    .default_sizes = "4:1M",
    .size_unit = sizeof(uint32_t),
};

static void run(struct collective *collective)
{
    MPI_Reduce(collective->send.bytes, collective->receive.bytes, reduction_words(collective),
               MPI_UINT32_T, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void verify_root(struct collective *collective)
{
    if (collective->session->rank == 0)
        reduction_verify(collective);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Reduce of so many bytes to rank 0, mean over the ranks",
        .run = run,
        .prepare = reduction_prepare,
        .verify = verify_root,
    };
    return collective_program(&program, &pattern, argc, argv);
}
