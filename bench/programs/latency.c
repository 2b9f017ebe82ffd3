// Ping-pong between two ranks: half of the round trip.
#include "ping_pong.h"

static const struct program program = {
    .name = "latency",
    .purpose = "half of the round trip of a ping-pong between two ranks, in us",
    .takes = OPTIONS_SWEEP,
    .default_sizes = "1:4M",
};

struct latency {
    const struct session *session;
    struct ping_pong ping_pong;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct latency *latency = state;
    ping_pong_open(&latency->ping_pong, latency->session, 1 - latency->session->rank, 0, size);
    return 0;
}

static void close_size(void *state)
{
    struct latency *latency = state;
    ping_pong_close(&latency->ping_pong);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct latency *latency = state;
    return ping_pong_batch(&latency->ping_pong, count, samples);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark = ping_pong_benchmark(
        "Half of the round trip of a ping-pong");
    benchmark.open = open_size;
    benchmark.batch = run_batch;
    benchmark.close = close_size;
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    struct latency latency = {.session = &session};
    sweep(&session, &benchmark, &latency);
    return session_finish();
}
