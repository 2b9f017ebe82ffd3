// Windows of messages from rank 0 to rank 1, each acknowledged.
#include "interval.h"
#include "session.h"
#include "sweep.h"
#include "window.h"

static const struct program program = {
    .name = "bandwidth",
    .purpose = "windows of messages from rank 0 to rank 1, in MB/s (10^6 bytes/s)",
    .takes = OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_ITERATIONS) | OPTION_BIT(OPTION_SECONDS)
        | OPTION_BIT(OPTION_WARMUP) | OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_CHECK)
        | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_INTERVAL) | OPTION_BIT(OPTION_DURATION),
    .default_sizes = "1:4M",
};

struct stream {
    const struct session *session;
    struct window window;
};

static uint64_t open_size(void *state, size_t size)
{
    struct stream *stream = state;
    int rank = stream->session->rank;
    window_open(&stream->window, stream->session, 1 - rank, size,
                rank == 0 ? WINDOW_SENDS : WINDOW_RECEIVES);
    return stream->window.count;
}

static void close_size(void *state)
{
    struct stream *stream = state;
    window_close(&stream->window);
}

static double megabytes_per_second(const void *state, uint64_t iterations, double seconds)
{
    const struct stream *stream = state;
    double bytes = (double)stream->window.size * (double)stream->window.count;
    return bytes * (double)iterations / seconds / 1e6;
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
            series_add(samples, megabytes_per_second(stream, 1, round));
    }
    // Rank 1's rounds start with waiting for rank 0.
    return rank == 0 ? seconds : 0.0;
}

int main(int argc, char **argv)
{
    static const struct benchmark benchmark = {
        .column = "Bandwidth (MB/s)",
        .unit = "MB/s",
        .decimals = 2,
        .method = "Windows of messages one way, each acknowledged",
        .open = open_size,
        .batch = run_batch,
        .value = megabytes_per_second,
        .close = close_size,
    };
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks == 2, "exactly 2 ranks");
    struct stream stream = {.session = &session};
    if (options_given(&session.options, OPTION_INTERVAL))
        interval_run(&session);
    else
        sweep(&session, &benchmark, &stream, MPI_COMM_WORLD, 0);
    return session_finish();
}
