// MPI_Alltoall over all ranks.
#include "blocks.h"

static const struct program program = {
    .name = "alltoall",
    .purpose = "time of MPI_Alltoall over all ranks, a block of the size for each, in us",
    .takes = COLLECTIVE_TAKES,
    .default_sizes = "1:1M",
};

static void run(struct collective *collective)
{
    int size = (int)collective->size;
    MPI_Alltoall(collective->send.bytes, size, MPI_BYTE, collective->receive.bytes, size, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static void prepare(struct collective *collective)
{
    const struct session *session = collective->session;
    for (int destination = 0; destination < session->ranks; destination++) {
        struct content block = collective_content(collective, session->rank, destination);
        check_fill(collective->send.bytes + (size_t)destination * collective->size, &block);
    }
    blocks_poison(collective, session->rank);
}

static void verify_all(struct collective *collective)
{
    blocks_verify(collective, collective->session->rank);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Alltoall of a block of so many bytes for each rank, mean over the ranks",
        .sends_blocks = true,
        .receives_blocks = true,
        .run = run,
        .prepare = prepare,
        .verify = verify_all,
    };
    return collective_program(&program, &pattern, argc, argv);
}
