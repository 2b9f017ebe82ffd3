// Ping-pong between two ranks: half of the round trip.
#include "agreement.h"
#include "ping_pong.h"
#include "sweep.h"

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
    static const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "Half of the round trip of a ping-pong",
        .open = open_size,
        .batch = run_batch,
        .value = ping_pong_half_us,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks == 2, "exactly 2 ranks");
    struct latency latency = {.session = &session};
    sweep(&session, &benchmark, &latency);
    return session_finish();
}
