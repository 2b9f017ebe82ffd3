#include "one_sided_bandwidth.h"

#include "agreement.h"
#include "one_sided_limit.h"
#include "rounds.h"
#include "window.h"

struct bandwidth {
    struct rounds rounds;
    enum one_sided_kind kind;
    int roles; // of this rank
    struct one_sided one_sided;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct bandwidth *bandwidth = state;
    const struct session *session = bandwidth->rounds.session;
    one_sided_open(&bandwidth->one_sided, session, bandwidth->kind, window_fitting(session, size),
                   size, bandwidth->roles);
    bandwidth->rounds.size = size;
    bandwidth->rounds.count = bandwidth->one_sided.count;
    return bandwidth->one_sided.count;
}

static void close_size(void *state)
{
    struct bandwidth *bandwidth = state;
    one_sided_close(&bandwidth->one_sided);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct bandwidth *bandwidth = state;
    return rounds_rate(&bandwidth->rounds, iterations, seconds);
}

static double run_round(void *state)
{
    struct bandwidth *bandwidth = state;
    return one_sided_run(&bandwidth->one_sided, bandwidth->roles);
}

// Both ranks' times count: an origin may be done before the last bytes are at the target.
static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct bandwidth *bandwidth = state;
    one_sided_ready(&bandwidth->one_sided);
    return rounds_batch(&bandwidth->rounds, count, samples, run_round, bandwidth);
}

int one_sided_bandwidth(const struct program *program, enum one_sided_kind kind, bool both_ways,
                        int argc, char **argv)
{
    struct session session;
    session_start_pair(&session, program, argc, argv);
    struct bandwidth bandwidth = {.rounds = {.session = &session, .both_ways = both_ways},
                                  .kind = kind};
    bandwidth.roles = session.rank == 0 ? ONE_SIDED_ORIGIN : ONE_SIDED_TARGET;
    if (both_ways)
        bandwidth.roles = ONE_SIDED_ORIGIN | ONE_SIDED_TARGET;
    const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = both_ways ? "Windows of operations of both ranks at once, bytes of both"
                            : "Windows of operations of rank 0, each synchronised",
        .open = open_size,
        .batch = run_batch,
        .value = rate,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    one_sided_limit_explain(&session);
    sweep(&session, &benchmark, &bandwidth);
    return session_finish();
}
