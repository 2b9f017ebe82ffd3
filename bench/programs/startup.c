// From before MPI_Init to the end of a first MPI_Alltoall, and the memory and files that a rank has then.
#define _POSIX_C_SOURCE 200809L

#include "buffer.h"
#include "process_size.h"
#include "startup_report.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct program program = {
    .name = "startup",
    .purpose = "time from before MPI_Init to the end of a first MPI_Alltoall, in us",
    .takes = OPTION_BIT(OPTION_SEED) | OPTION_BIT(OPTION_JSON),
    .default_sizes = "64",
};

// MPI_Wtime is not there yet.
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

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
                session_abort(EXIT_WRONG_DATA, "startup: rank %d: wrong byte %zu of what rank %d sent",
                              session->rank, at, rank);
    free(send);
    free(receive);
}

// Least, mean and greatest of the ranks' values, on rank 0.
static struct spread spread_over_ranks(const struct session *session, double value)
{
    struct spread spread = {value, value, value};
    MPI_Reduce(&value, &spread.min, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &spread.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &spread.max, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    spread.mean /= session->ranks;
    return spread;
}

int main(int argc, char **argv)
{
    struct session session;
    double begun = seconds_now();
    session_start(&session, &program, argc, argv);
    double initialized = seconds_now();
    session_require_ranks(&session, session.ranks >= 2, "at least 2");
    size_t size = session.options.sizes[0];
    first_alltoall(&session, size);
    double ended = seconds_now();
    struct process_size own = process_size_now();

    struct startup startup = {
        .size = size,
        .whole_us = spread_over_ranks(&session, (ended - begun) * 1e6),
        .init_us = spread_over_ranks(&session, (initialized - begun) * 1e6),
        .memory_bytes = spread_over_ranks(&session, (double)own.memory_bytes),
        .files = spread_over_ranks(&session, (double)own.files),
    };
    if (session.rank == 0)
        startup_report(&session, &startup);
    return session_finish();
}
