// Windows of messages both ways at once.
#include "session.h"
#include "sweep.h"
#include "window.h"

static const struct program program = {
    .name = "bibandwidth",
    .purpose = "windows of messages both ways at once between two ranks, in MB/s of both",
    .takes = OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_ITERATIONS) | OPTION_BIT(OPTION_SECONDS)
        | OPTION_BIT(OPTION_WARMUP) | OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_CHECK)
        | OPTION_BIT(OPTION_WINDOW),
    .default_sizes = "1:4M",
};

struct exchange {
    const struct session *session;
    struct window window;
};

static uint64_t open_size(void *state, size_t size)
{
    struct exchange *exchange = state;
    window_open(&exchange->window, exchange->session, 1 - exchange->session->rank, size,
                WINDOW_SENDS | WINDOW_RECEIVES);
    return exchange->window.count;
}

static void close_size(void *state)
{
    struct exchange *exchange = state;
    window_close(&exchange->window);
}

static double megabytes_per_second(const void *state, uint64_t iterations, double seconds)
{
    const struct exchange *exchange = state;
    double bytes = 2.0 * (double)exchange->window.size * (double)exchange->window.count;
    return bytes * (double)iterations / seconds / 1e6;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct exchange *exchange = state;
    window_ready(&exchange->window);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = window_run(&exchange->window);
        seconds += round;
        if (exchange->session->rank == 0)
            series_add(samples, megabytes_per_second(exchange, 1, round));
    }
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct benchmark benchmark = {
        .column = "Bandwidth (MB/s)",
        .unit = "MB/s",
        .decimals = 2,
        .method = "Windows of messages both ways at once, bytes of both ways",
        .open = open_size,
        .batch = run_batch,
        .value = megabytes_per_second,
        .close = close_size,
    };
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks == 2, "exactly 2 ranks");
    struct exchange exchange = {.session = &session};
    sweep(&session, &benchmark, &exchange, MPI_COMM_WORLD, 0);
    return session_finish();
}
