// Windows of MPI_Get both ways at once.
#include "one_sided_bandwidth.h"

static const struct program program = {
    .name = "get_bibandwidth",
    .purpose = "windows of MPI_Get both ways at once, in MB/s of both",
    .takes = ONE_SIDED_BANDWIDTH_TAKES,
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    return one_sided_bandwidth(&program, ONE_SIDED_GET, true, argc, argv);
}
