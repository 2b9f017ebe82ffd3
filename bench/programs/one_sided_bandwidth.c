#include "one_sided_bandwidth.h"

#include "agreement.h"
#include "one_sided_limit.h"
#include "rate.h"
#include "sweep.h"
#include "window.h"

struct bandwidth {
    const struct session *session;
    enum one_sided_kind kind;
    bool both_ways;
    int roles; // of this rank
    struct one_sided one_sided;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct bandwidth *bandwidth = state;
    one_sided_open(&bandwidth->one_sided, bandwidth->session, bandwidth->kind,
                   window_fitting(bandwidth->session, size), size, bandwidth->roles);
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
    uint64_t operations = bandwidth->one_sided.count * iterations * (bandwidth->both_ways ? 2 : 1);
    return megabytes_per_second(bandwidth->one_sided.size, operations, seconds);
}

// Both ranks' times count: an origin may be done before the last bytes are at the target.
static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct bandwidth *bandwidth = state;
    one_sided_ready(&bandwidth->one_sided);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = one_sided_run(&bandwidth->one_sided, bandwidth->roles);
        seconds += round;
        if (bandwidth->session->rank == 0)
            series_add(samples, rate(bandwidth, 1, round));
    }
    return seconds;
}

int one_sided_bandwidth(const struct program *program, enum one_sided_kind kind, bool both_ways,
                        int argc, char **argv)
{
    struct session session;
    session_start(&session, program, argc, argv);
    session_require_ranks(&session, session.ranks == 2, "exactly 2 ranks");
    struct bandwidth bandwidth = {.session = &session, .kind = kind, .both_ways = both_ways};
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
