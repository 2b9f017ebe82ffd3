// Ping-pongs of several threads of two ranks, all at once.
#include "ping_pong.h"
#include "team.h"

#include <stdlib.h>

static const struct program program = {
    .name = "latency_mt",
    .purpose = "ping-pongs between threads of two ranks, all at once; half a round trip, in us",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_THREADS),
    .default_sizes = "1:4M",
    .needs_threads = true,
};

struct latency_mt {
    const struct session *session;
    struct ping_pong *ping_pongs; // one a thread
    uint64_t count; // of the batch
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct latency_mt *latency = state;
    const struct session *session = latency->session;
    for (uint64_t i = 0; i < session->options.threads; i++)
        ping_pong_open(&latency->ping_pongs[i], session, 1 - session->rank, (int)i, size);
    return 0;
}

static void close_size(void *state)
{
    struct latency_mt *latency = state;
    for (uint64_t i = 0; i < latency->session->options.threads; i++)
        ping_pong_close(&latency->ping_pongs[i]);
}

static double run_rounds(void *state, uint64_t member, struct team *team)
{
    struct latency_mt *latency = state;
    struct ping_pong *ping_pong = &latency->ping_pongs[member];
    double seconds = 0.0;
    ping_pong_ready(ping_pong);
    team_wait(team);
    for (uint64_t i = 0; i < latency->count; i++) {
        double round = ping_pong_round(ping_pong);
        seconds += round;
        if (ping_pong->first)
            team_add(team, member, ping_pong_half_us(NULL, 1, round));
    }
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct latency_mt *latency = state;
    uint64_t threads = latency->session->options.threads;
    latency->count = count;
    double mean = team_run(threads, run_rounds, latency, samples).mean;
    return latency->session->rank == 0 ? mean : 0.0;
}

int main(int argc, char **argv)
{
    struct benchmark benchmark = ping_pong_benchmark(
        "Half of the round trip of ping-pongs between threads, all at once; their mean");
    benchmark.open = open_size;
    benchmark.batch = run_batch;
    benchmark.close = close_size;
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    struct latency_mt latency = {.session = &session};
    latency.ping_pongs = allocate(session.options.threads * sizeof *latency.ping_pongs);
    sweep(&session, &benchmark, &latency);
    free(latency.ping_pongs);
    return session_finish();
}
