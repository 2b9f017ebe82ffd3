// One MPI_Put and its synchronisation.
#include "one_sided_latency.h"

static const struct program program = {
    .name = "put_latency",
    .purpose = "time of one MPI_Put between two ranks, completed, in us",
    .takes = ONE_SIDED_LATENCY_TAKES,
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    return one_sided_latency(&program, ONE_SIDED_PUT, argc, argv);
}
