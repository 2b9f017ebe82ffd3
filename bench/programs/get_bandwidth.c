// Windows of MPI_Get one way.
#include "one_sided_bandwidth.h"

static const struct program program = {
    .name = "get_bandwidth",
    .purpose = "windows of MPI_Get of rank 0 from rank 1, in MB/s",
    .takes = ONE_SIDED_BANDWIDTH_TAKES,
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    return one_sided_bandwidth(&program, ONE_SIDED_GET, false, argc, argv);
}
