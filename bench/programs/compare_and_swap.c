// MPI_Compare_and_swap on words of each rank's own.
#include "atomic.h"

static const struct program program = {
    .name = "compare_and_swap",
    .purpose = "time of one MPI_Compare_and_swap of 8 bytes on a word of the last rank, in us",
    .takes = ATOMIC_TAKES,
    .default_sizes = "8",
    .default_window = 1,
};

int main(int argc, char **argv)
{
    return atomic_program(&program, ATOMIC_COMPARE_AND_SWAP, argc, argv);
}
