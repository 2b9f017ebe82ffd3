#include "stream.h"

#include "agreement.h"
#include "rounds.h"
#include "sweep.h"
#include "window.h"

struct stream {
    struct rounds rounds;
    struct window window;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct stream *stream = state;
    int rank = stream->rounds.session->rank, peer = 1 - rank;
    struct route route = {peer, peer, 0};
    if (!stream->rounds.both_ways && rank == 0)
        route.from = MPI_PROC_NULL;
    if (!stream->rounds.both_ways && rank == 1)
        route.to = MPI_PROC_NULL;
    window_open(&stream->window, stream->rounds.session, route, size);
    stream->rounds.size = size;
    stream->rounds.count = stream->window.count;
    return stream->window.count;
}

static void close_size(void *state)
{
    struct stream *stream = state;
    window_close(&stream->window);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct stream *stream = state;
    return rounds_rate(&stream->rounds, iterations, seconds);
}

static double run_round(void *state)
{
    struct stream *stream = state;
    return window_run(&stream->window);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct stream *stream = state;
    const struct rounds *rounds = &stream->rounds;
    window_ready(&stream->window);
    double seconds = rounds_batch(rounds, count, samples, run_round, stream);
    // A receiver's rounds start with waiting for the sender.
    return rounds->session->rank == 0 || rounds->both_ways ? seconds : 0.0;
}

void stream_run(const struct session *session, bool both_ways)
{
    const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = both_ways ? "Windows of messages both ways at once, bytes of both ways"
                            : "Windows of messages one way, each acknowledged",
        .open = open_size,
        .batch = run_batch,
        .value = rate,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    struct stream stream = {.rounds = {.session = session, .both_ways = both_ways}};
    sweep(session, &benchmark, &stream);
}
