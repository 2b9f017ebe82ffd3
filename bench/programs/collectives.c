// The programs that measure collective operations, each over all ranks.
#include "bcast_window.h"
#include "collective.h"
#include "sum.h"
#include "verify.h"

#include <string.h>

static unsigned char *block_from(const struct collective *collective, int source)
{
    return collective->receive.bytes + (size_t)source * collective->size;
}

// `block`: which of its blocks each rank sends here.
static void poison_blocks(struct collective *collective, int block)
{
    // In this order the guard after each block is overwritten by the next, but for the last.
    for (int source = 0; source < collective->session->ranks; source++) {
        struct content expected = collective_content(collective, source, block);
        check_poison(block_from(collective, source), &expected);
    }
}

static void verify_blocks(const struct collective *collective, int block)
{
    int last = collective->session->ranks - 1;
    for (int source = 0; source <= last; source++) {
        struct content expected = collective_content(collective, source, block);
        if (source < last)
            verify_block(block_from(collective, source), &expected, collective->iteration);
        else
            verify_content(block_from(collective, source), &expected, collective->iteration);
    }
}

static void allgather(struct collective *collective)
{
    int size = (int)collective->size;
    MPI_Allgather(collective->send.bytes, size, MPI_BYTE, collective->receive.bytes, size, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static void prepare_allgather(struct collective *collective)
{
    struct content own = collective_content(collective, collective->session->rank, 0);
    check_fill(collective->send.bytes, &own);
    poison_blocks(collective, 0);
}

static void verify_allgather(struct collective *collective)
{
    verify_blocks(collective, 0);
}

static void alltoall(struct collective *collective)
{
    int size = (int)collective->size;
    MPI_Alltoall(collective->send.bytes, size, MPI_BYTE, collective->receive.bytes, size, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static void prepare_alltoall(struct collective *collective)
{
    const struct session *session = collective->session;
    for (int destination = 0; destination < session->ranks; destination++) {
        struct content block = collective_content(collective, session->rank, destination);
        check_fill(collective->send.bytes + (size_t)destination * collective->size, &block);
    }
    poison_blocks(collective, session->rank);
}

static void verify_alltoall(struct collective *collective)
{
    verify_blocks(collective, collective->session->rank);
}

static int words(const struct collective *collective)
{
    return (int)(collective->size / sizeof(uint32_t));
}

static void allreduce(struct collective *collective)
{
    MPI_Allreduce(collective->send.bytes, collective->receive.bytes, words(collective),
                  MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(struct collective *collective)
{
    MPI_Reduce(collective->send.bytes, collective->receive.bytes, words(collective), MPI_UINT32_T,
               MPI_SUM, 0, MPI_COMM_WORLD);
}

static void prepare_sum(struct collective *collective)
{
    struct content own = collective_content(collective, collective->session->rank, 0);
    check_fill(collective->send.bytes, &own);
    check_poison(collective->receive.bytes, &own);
}

// Without the other ranks' parts the sum is this rank's own.
static void verify_sum(struct collective *collective)
{
    int rank = collective->session->rank;
    for (int other = 0; other < collective->session->ranks; other++) {
        struct content part = collective_content(collective, other, 0);
        if (other != rank)
            sum_subtract(collective->receive.bytes, &part);
    }
    struct content own = collective_content(collective, rank, 0);
    verify_content(collective->receive.bytes, &own, collective->iteration);
}

static void verify_sum_of_root(struct collective *collective)
{
    if (collective->session->rank == 0)
        verify_sum(collective);
}

static void barrier(struct collective *collective)
{
    (void)collective;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(struct collective *collective)
{
    MPI_Bcast(collective->receive.bytes, (int)collective->size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void prepare_bcast(struct collective *collective)
{
    struct content content = collective_content(collective, 0, 0);
    check_poison(collective->receive.bytes, &content);
    if (collective->session->rank == 0)
        check_fill(collective->receive.bytes, &content);
}

static void verify_bcast(struct collective *collective)
{
    struct content content = collective_content(collective, 0, 0);
    verify_content(collective->receive.bytes, &content, collective->iteration);
}

// The options of all of them that have sizes.
#define TAKES (OPTIONS_SWEEP | OPTION_BIT(OPTION_START))

static const struct {
    struct program program;
    struct pattern pattern;
} programs[] = {
    {{.name = "allgather",
      .purpose = "time of MPI_Allgather over all ranks, a block of the size from each, in us",
      .takes = TAKES,
      .default_sizes = "1:1M"},
     {"MPI_Allgather of a block of so many bytes from each rank, mean over the ranks",
      .receives_blocks = true, .run = allgather, .prepare = prepare_allgather,
      .verify = verify_allgather}},
    {{.name = "allreduce",
      .purpose = "time of MPI_Allreduce, sums of 4-byte integers over all ranks, in us",
      .takes = TAKES,
      .default_sizes = "4:1M",
      .size_unit = sizeof(uint32_t)},
     {"MPI_Allreduce of so many bytes, mean over the ranks",
      .run = allreduce, .prepare = prepare_sum, .verify = verify_sum}},
    {{.name = "alltoall",
      .purpose = "time of MPI_Alltoall over all ranks, a block of the size for each, in us",
      .takes = TAKES,
      .default_sizes = "1:1M"},
     {"MPI_Alltoall of a block of so many bytes for each rank, mean over the ranks",
      .sends_blocks = true, .receives_blocks = true, .run = alltoall, .prepare = prepare_alltoall,
      .verify = verify_alltoall}},
    {{.name = "barrier",
      .purpose = "time of MPI_Barrier over all ranks, in us",
      .takes = OPTIONS_MEASURE | OPTION_BIT(OPTION_START),
      .default_sizes = "0"},
     {"MPI_Barrier, mean over the ranks", .run = barrier}},
    // One by one or in windows that every rank acknowledges.
    {{.name = "bcast",
      .purpose = "time of MPI_Bcast from rank 0 in us, or bandwidth of windows of them in MB/s",
      .takes = TAKES | OPTION_BIT(OPTION_BANDWIDTH) | OPTION_BIT(OPTION_WINDOW),
      .default_sizes = "1:1M"},
     {"MPI_Bcast of so many bytes from rank 0, mean over the ranks",
      .run = bcast, .prepare = prepare_bcast, .verify = verify_bcast}},
    {{.name = "reduce",
      .purpose = "time of MPI_Reduce to rank 0, sums of 4-byte integers, in us",
      .takes = TAKES,
      .default_sizes = "4:1M",
      .size_unit = sizeof(uint32_t)},
     {"MPI_Reduce of so many bytes to rank 0, mean over the ranks",
      .run = reduce, .prepare = prepare_sum, .verify = verify_sum_of_root}},
};

int main(int argc, char **argv)
{
    size_t at = 0;
    while (strcmp(programs[at].program.name, PROGRAM_NAME) != 0)
        at++;
    struct session session;
    session_start(&session, &programs[at].program, argc, argv);
    if (session.options.bandwidth)
        bcast_window_run(&session);
    else
        collective_run(&session, &programs[at].pattern);
    return session_finish();
}
