// Windows of messages from the threads of rank 0 to those of rank 1, all at once.
#include "agreement.h"
#include "rate.h"
#include "sweep.h"
#include "team.h"
#include "window.h"

#include <stdlib.h>

static const struct program program = {
    .name = "bandwidth_mt",
    .purpose = "windows of messages from each thread of rank 0 to one of rank 1, in MB/s of all",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_THREADS),
    .default_sizes = "1:4M",
    .needs_threads = true,
};

struct bandwidth_mt {
    const struct session *session;
    struct window *windows; // one a thread
    uint64_t count; // of the batch
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct bandwidth_mt *bandwidth = state;
    const struct session *session = bandwidth->session;
    for (uint64_t i = 0; i < session->options.threads; i++) {
        struct route route = {MPI_PROC_NULL, MPI_PROC_NULL, (int)i};
        if (session->rank == 0)
            route.to = 1;
        else
            route.from = 0;
        window_open(&bandwidth->windows[i], session, route, size);
    }
    return bandwidth->windows[0].count;
}

static void close_size(void *state)
{
    struct bandwidth_mt *bandwidth = state;
    for (uint64_t i = 0; i < bandwidth->session->options.threads; i++)
        window_close(&bandwidth->windows[i]);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct bandwidth_mt *bandwidth = state;
    const struct window *window = &bandwidth->windows[0];
    uint64_t messages = window->count * iterations * bandwidth->session->options.threads;
    return megabytes_per_second(window->size, messages, seconds);
}

static double run_windows(void *state, uint64_t member, struct team *team)
{
    struct bandwidth_mt *bandwidth = state;
    struct window *window = &bandwidth->windows[member];
    double seconds = 0.0;
    window_ready(window);
    team_wait(team);
    for (uint64_t i = 0; i < bandwidth->count; i++) {
        double round = window_run(window);
        seconds += round;
        // A window of one thread; the samples are as if all threads were as fast.
        if (bandwidth->session->rank == 0)
            team_add(team, member, rate(bandwidth, 1, round));
    }
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct bandwidth_mt *bandwidth = state;
    uint64_t threads = bandwidth->session->options.threads;
    bandwidth->count = count;
    double slowest = team_run(threads, run_windows, bandwidth, samples).slowest;
    // Rank 1's rounds start with waiting for rank 0.
    return bandwidth->session->rank == 0 ? slowest : 0.0;
}

int main(int argc, char **argv)
{
    static const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = "Windows of messages between threads one way, each acknowledged; of all threads",
        .open = open_size,
        .batch = run_batch,
        .value = rate,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    struct bandwidth_mt bandwidth = {.session = &session};
    bandwidth.windows = allocate(session.options.threads * sizeof *bandwidth.windows);
    sweep(&session, &benchmark, &bandwidth);
    free(bandwidth.windows);
    return session_finish();
}
