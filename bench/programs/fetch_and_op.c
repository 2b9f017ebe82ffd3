// MPI_Fetch_and_op on one word.
#include "atomic.h"

static const struct program program = {
    .name = "fetch_and_op",
    .purpose = "time of one MPI_Fetch_and_op, a sum of 8 bytes on a word of the last rank, in us",
    .takes = ATOMIC_TAKES,
    .default_sizes = "8",
    .default_window = 1,
};

int main(int argc, char **argv)
{
    return atomic_program(&program, ATOMIC_FETCH_AND_OP, argc, argv);
}
