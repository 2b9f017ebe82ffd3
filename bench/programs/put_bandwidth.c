// Windows of MPI_Put one way.
#include "one_sided_bandwidth.h"

static const struct program program = {
    .name = "put_bandwidth",
    .purpose = "windows of MPI_Put from rank 0 to rank 1, in MB/s",
    .takes = ONE_SIDED_BANDWIDTH_TAKES,
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    return one_sided_bandwidth(&program, ONE_SIDED_PUT, false, argc, argv);
}
