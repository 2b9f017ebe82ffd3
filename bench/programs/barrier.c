// MPI_Barrier over all ranks.
#include "collective.h"

static const struct program program = {
    .name = "barrier",
    .purpose = "time of MPI_Barrier over all ranks, in us",
    .takes = OPTIONS_MEASURE | OPTION_BIT(OPTION_START),
    .default_sizes = "0",
};

static void run(struct collective *collective)
{
    (void)collective;
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Barrier, mean over the ranks",
        .run = run,
    };
    return collective_program(&program, &pattern, argc, argv);
}
