#include "stream.h"

#include "agreement.h"
#include "rate.h"
#include "sweep.h"
#include "window.h"

struct stream {
    const struct session *session;
    bool both_ways;
    struct window window;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct stream *stream = state;
    int rank = stream->session->rank, peer = 1 - rank;
    struct route route = {peer, peer, 0};
    if (!stream->both_ways && rank == 0)
        route.from = MPI_PROC_NULL;
    if (!stream->both_ways && rank == 1)
        route.to = MPI_PROC_NULL;
    window_open(&stream->window, stream->session, route, size);
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
    uint64_t messages = stream->window.count * iterations * (stream->both_ways ? 2 : 1);
    return megabytes_per_second(stream->window.size, messages, seconds);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct stream *stream = state;
    int rank = stream->session->rank;
    window_ready(&stream->window);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = window_run(&stream->window);
        seconds += round;
        if (rank == 0)
            series_add(samples, rate(stream, 1, round));
    }
    // A receiver's rounds start with waiting for the sender.
    return rank == 0 || stream->both_ways ? seconds : 0.0;
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
    struct stream stream = {.session = session, .both_ways = both_ways};
    sweep(session, &benchmark, &stream);
}
