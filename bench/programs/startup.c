// From before MPI_Init to the end of a first MPI_Alltoall, and the memory and files that a rank has then.
#include "agreement.h"
#include "buffer.h"
#include "clock.h"
#include "process_size.h"
#include "startup_report.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const struct program program = {
    .name = "startup",
    .purpose = "time from before MPI_Init to the end of a first MPI_Alltoall, in us",
    .takes = OPTION_BIT(OPTION_SEED) | OPTION_BIT(OPTION_JSON),
    .default_sizes = "64",
};

// Each rank sends to each other a block of bytes that only the two know.
static unsigned char byte_of(const struct session *session, int source, int target)
{
    return (unsigned char)(session->options.seed + (uint64_t)source * 7 + (uint64_t)target * 13);
}

static void first_alltoall(const struct session *session, size_t size)
{
    size_t ranks = (size_t)session->ranks;
    unsigned char *send = allocate(ranks * size), *receive = allocate(ranks * size);
    for (int rank = 0; rank < session->ranks; rank++)
        memset(send + (size_t)rank * size, byte_of(session, session->rank, rank), size);
    MPI_Alltoall(send, (int)size, MPI_BYTE, receive, (int)size, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < session->ranks; rank++)
        for (size_t at = 0; at < size; at++)
            if (receive[(size_t)rank * size + at] != byte_of(session, rank, session->rank))
                session_abort(EXIT_WRONG_DATA, "wrong byte %zu of what rank %d sent", at, rank);
    free(send);
    free(receive);
}

int main(int argc, char **argv)
{
    struct session session;
    double begun = clock_seconds();
    session_start(&session, &program, argc, argv);
    double initialized = clock_seconds();
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    size_t size = session.options.sizes[0];
    first_alltoall(&session, size);
    double ended = clock_seconds();
    struct process_size own = process_size_now();

    struct startup startup = {
        .size = size,
        .whole_us = agreement_spread((ended - begun) * 1e6),
        .init_us = agreement_spread((initialized - begun) * 1e6),
        .memory_bytes = agreement_spread((double)own.memory_bytes),
        .files = agreement_spread((double)own.files),
    };
    if (session.rank == 0)
        startup_report(&session, &startup);
    return session_finish();
}
