// MPI_Allgather over all ranks.
#include "blocks.h"

static const struct program program = {
    .name = "allgather",
    .purpose = "time of MPI_Allgather over all ranks, a block of the size from each, in us",
    .takes = COLLECTIVE_TAKES,
    .default_sizes = "1:1M",
};

static void run(struct collective *collective)
{
    int size = (int)collective->size;
    MPI_Allgather(collective->send.bytes, size, MPI_BYTE, collective->receive.bytes, size, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static void prepare(struct collective *collective)
{
    struct content own = collective_content(collective, collective->session->rank, 0);
    check_fill(collective->send.bytes, &own);
    blocks_poison(collective, 0);
}

static void verify_all(struct collective *collective)
{
    blocks_verify(collective, 0);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Allgather of a block of so many bytes from each rank, mean over the ranks",
        .receives_blocks = true,
        .run = run,
        .prepare = prepare,
        .verify = verify_all,
    };
    return collective_program(&program, &pattern, argc, argv);
}
