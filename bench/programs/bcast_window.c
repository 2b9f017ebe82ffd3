#include "bcast_window.h"

#include "agreement.h"
#include "check.h"
#include "rate.h"
#include "sweep.h"
#include "verify.h"
#include "window.h"

#include <stdlib.h>

enum { TAG_ACKNOWLEDGEMENT = 1 };

struct broadcasts {
    const struct session *session;
    size_t size;
    uint64_t count; // in a window
    uint64_t iteration;
    struct buffer buffer;
    int32_t *acknowledgements; // on rank 0, of all others
    MPI_Request *requests;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct broadcasts *broadcasts = state;
    const struct session *session = broadcasts->session;
    bool check = session->options.check;
    broadcasts->size = size;
    broadcasts->count = check ? window_fitting(session, size) : session->options.window;
    buffer_create(&broadcasts->buffer, size, check ? broadcasts->count : 1);
    return broadcasts->count;
}

static void close_size(void *state)
{
    struct broadcasts *broadcasts = state;
    buffer_destroy(&broadcasts->buffer);
}

static struct content content_of(const struct broadcasts *broadcasts, uint64_t slot)
{
    return (struct content){broadcasts->session->options.seed, 0,
                            broadcasts->iteration * broadcasts->count + slot, broadcasts->size};
}

static void prepare(const struct broadcasts *broadcasts)
{
    for (uint64_t slot = 0; slot < broadcasts->count; slot++) {
        struct content content = content_of(broadcasts, slot);
        check_poison(buffer_slot(&broadcasts->buffer, slot), &content);
        if (broadcasts->session->rank == 0)
            check_fill(buffer_slot(&broadcasts->buffer, slot), &content);
    }
}

static void verify_all(const struct broadcasts *broadcasts)
{
    for (uint64_t slot = 0; slot < broadcasts->count; slot++) {
        struct content content = content_of(broadcasts, slot);
        verify_content(buffer_slot(&broadcasts->buffer, slot), &content, broadcasts->iteration);
    }
}

// Four bytes from every other rank to rank 0.
static void acknowledge(const struct broadcasts *broadcasts)
{
    int others = broadcasts->session->ranks - 1;
    int32_t acknowledgement = 1;
    if (broadcasts->session->rank != 0) {
        MPI_Send(&acknowledgement, 4, MPI_BYTE, 0, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < others; i++)
        MPI_Irecv(&broadcasts->acknowledgements[i], 4, MPI_BYTE, i + 1, TAG_ACKNOWLEDGEMENT,
                  MPI_COMM_WORLD, &broadcasts->requests[i]);
    MPI_Waitall(others, broadcasts->requests, MPI_STATUSES_IGNORE);
}

static double run_window(struct broadcasts *broadcasts)
{
    bool check = broadcasts->session->options.check;
    if (check) {
        prepare(broadcasts);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double start = MPI_Wtime();
    for (uint64_t slot = 0; slot < broadcasts->count; slot++)
        MPI_Bcast(buffer_slot(&broadcasts->buffer, slot), (int)broadcasts->size, MPI_BYTE, 0,
                  MPI_COMM_WORLD);
    acknowledge(broadcasts);
    double seconds = MPI_Wtime() - start;
    if (check)
        verify_all(broadcasts);
    broadcasts->iteration++;
    return seconds;
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct broadcasts *broadcasts = state;
    return megabytes_per_second(broadcasts->size, broadcasts->count * iterations, seconds);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct broadcasts *broadcasts = state;
    bool root = broadcasts->session->rank == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = run_window(broadcasts);
        seconds += round;
        if (root)
            series_add(samples, rate(broadcasts, 1, round));
    }
    // The others' windows start with waiting for rank 0.
    return root ? seconds : 0.0;
}

void bcast_window_run(const struct session *session)
{
    session_require_ranks(session, session->ranks >= 2, "at least 2 ranks");
    static const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = "Windows of MPI_Bcast, each acknowledged by every rank; what each rank receives",
        .open = open_size,
        .batch = run_batch,
        .value = rate,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    struct broadcasts broadcasts = {.session = session};
    size_t others = (size_t)session->ranks - 1;
    broadcasts.acknowledgements = allocate(others * sizeof *broadcasts.acknowledgements);
    broadcasts.requests = allocate(others * sizeof *broadcasts.requests);
    sweep(session, &benchmark, &broadcasts);
    free(broadcasts.acknowledgements);
    free(broadcasts.requests);
}
