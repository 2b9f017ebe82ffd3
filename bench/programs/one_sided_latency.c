// The time of one synchronised operation between two ranks: three programs.
#include "one_sided.h"

#include "agreement.h"
#include "rate.h"
#include "sweep.h"

#include <string.h>

struct latency {
    const struct session *session;
    enum one_sided_kind kind;
    struct one_sided one_sided;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct latency *latency = state;
    one_sided_open(&latency->one_sided, latency->session, latency->kind, 1, size,
                   ONE_SIDED_ORIGIN | ONE_SIDED_TARGET);
    return 0;
}

static void close_size(void *state)
{
    struct latency *latency = state;
    one_sided_close(&latency->one_sided);
}

// With locks the target need not answer, so the operation alone is timed.
static bool answers(const struct latency *latency)
{
    return latency->session->options.sync != SYNC_LOCK;
}

static double latency_us(const void *state, uint64_t iterations, double seconds)
{
    return microseconds_each(answers(state) ? 2 * iterations : iterations, seconds);
}

// Rank 0's operation on rank 1, then rank 1's on rank 0.
static double run_round(struct latency *latency)
{
    bool first = latency->session->rank == 0;
    struct one_sided *one_sided = &latency->one_sided;
    double seconds = one_sided_run(one_sided, first ? ONE_SIDED_ORIGIN : ONE_SIDED_TARGET);
    if (answers(latency))
        seconds += one_sided_run(one_sided, first ? ONE_SIDED_TARGET : ONE_SIDED_ORIGIN);
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct latency *latency = state;
    bool first = latency->session->rank == 0;
    one_sided_ready(&latency->one_sided);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = run_round(latency);
        seconds += round;
        if (first)
            series_add(samples, latency_us(latency, 1, round));
    }
    // Rank 1's rounds start with waiting for rank 0.
    return first ? seconds : 0.0;
}

#define TAKES (OPTIONS_SWEEP | OPTION_BIT(OPTION_SYNC))

static const struct {
    struct program program;
    enum one_sided_kind kind;
} programs[] = {
    {{.name = "put_latency",
      .purpose = "time of one MPI_Put between two ranks, completed, in us",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_PUT},
    {{.name = "get_latency",
      .purpose = "time of one MPI_Get between two ranks, completed, in us",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_GET},
    {{.name = "accumulate_latency",
      .purpose = "time of one MPI_Accumulate of sums of 4-byte integers, completed, in us",
      .takes = TAKES,
      .default_sizes = "4:4M",
      .size_unit = sizeof(uint32_t)},
     ONE_SIDED_ACCUMULATE},
};

int main(int argc, char **argv)
{
    size_t at = 0;
    while (strcmp(programs[at].program.name, PROGRAM_NAME) != 0)
        at++;
    struct session session;
    session_start_pair(&session, &programs[at].program, argc, argv);
    struct latency latency = {.session = &session, .kind = programs[at].kind};
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = answers(&latency) ? "One operation each way, one after the other; half of both"
                                    : "Lock, one operation, unlock",
        .open = open_size,
        .batch = run_batch,
        .value = latency_us,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    sweep(&session, &benchmark, &latency);
    return session_finish();
}
