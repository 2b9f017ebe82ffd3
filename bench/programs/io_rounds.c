#include "io_rounds.h"

#include "agreement.h"
#include "rate.h"

#include <mpi.h>

// What a rank has written is with the file system, and in no page cache.
static void settle(struct io_rounds *rounds)
{
    io_sync(&rounds->file);
    io_drop(&rounds->file, 0, 0);
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct io_rounds *rounds = state;
    rounds->size = size;
    buffer_create(&rounds->buffer, size, 1);
    rounds->fill(rounds);
    // What is read has been written by the same ranks, measured or not.
    if (rounds->io->session->options.operation == OPERATION_READ) {
        rounds->writes = true;
        rounds->move(rounds);
        settle(rounds);
        rounds->writes = false;
    }
    return 0;
}

static void close_size(void *state)
{
    struct io_rounds *rounds = state;
    buffer_destroy(&rounds->buffer);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct io_rounds *rounds = state;
    uint64_t moved = iterations * (uint64_t)rounds->io->session->ranks;
    return megabytes_per_second(rounds->size, moved, seconds);
}

static double run_once(struct io_rounds *rounds)
{
    bool check = rounds->io->session->options.check && !rounds->writes;
    if (check)
        rounds->poison(rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    rounds->move(rounds);
    if (rounds->writes)
        io_sync(&rounds->file);
    double seconds = MPI_Wtime() - start;
    io_drop(&rounds->file, 0, 0);
    if (check)
        rounds->verify(rounds);
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct io_rounds *rounds = state;
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double once = run_once(rounds);
        seconds += once;
        // Of one rank; the samples are as if all were as fast.
        if (rounds->io->session->rank == 0)
            series_add(samples, rate(rounds, 1, once));
    }
    return seconds;
}

int io_rounds_program(struct io *io, struct io_rounds *rounds, struct benchmark *benchmark)
{
    benchmark->open = open_size;
    benchmark->batch = run_batch;
    benchmark->value = rate;
    benchmark->close = close_size;
    benchmark->agree = agreement_slowest_of_all;
    rounds->io = io;
    io_open(io, &rounds->file, "file");
    if (rounds->opened != NULL)
        rounds->opened(rounds);
    io_sweep(io->session, benchmark, rounds, &rounds->writes);
    io_close(&rounds->file);
    return io_end(io);
}
