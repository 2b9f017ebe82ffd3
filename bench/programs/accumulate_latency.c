// One MPI_Accumulate and its synchronisation.
#include "one_sided_latency.h"

static const struct program program = {
    .name = "accumulate_latency",
    .purpose = "time of one MPI_Accumulate of sums of 4-byte integers, completed, in us",
    .takes = ONE_SIDED_LATENCY_TAKES,
    .default_sizes = "4:4M",
    .size_unit = sizeof(uint32_t),
};

int main(int argc, char **argv)
{
    return one_sided_latency(&program, ONE_SIDED_ACCUMULATE, argc, argv);
}
