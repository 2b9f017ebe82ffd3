#include "collective.h"

#include "agreement.h"
#include "rate.h"
#include "sweep.h"

// Iterations whose times are added up over the ranks at once.
enum { TIMES_CAPACITY = 256 };

struct content collective_content(const struct collective *collective, int source, int block)
{
    uint64_t blocks = (uint64_t)collective->session->ranks;
    return (struct content){collective->session->options.seed, source,
                            collective->iteration * blocks + (uint64_t)block, collective->size};
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct collective *collective = state;
    size_t ranks = (size_t)collective->session->ranks;
    collective->size = size;
    buffer_create(&collective->send, collective->pattern->sends_blocks ? ranks * size : size, 1);
    buffer_create(&collective->receive, collective->pattern->receives_blocks ? ranks * size : size,
                  1);
    return 0;
}

static void close_size(void *state)
{
    struct collective *collective = state;
    buffer_destroy(&collective->send);
    buffer_destroy(&collective->receive);
}

static double run_once(struct collective *collective)
{
    const struct pattern *pattern = collective->pattern;
    bool check = collective->session->options.check;
    if (check)
        pattern->prepare(collective);
    // Ranks that are late would make the others' times longer.
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    pattern->run(collective);
    double seconds = MPI_Wtime() - start;
    if (check)
        pattern->verify(collective);
    collective->iteration++;
    return seconds;
}

// A sample is the mean over the ranks of what one iteration took.
static void add_samples(const struct collective *collective, double *seconds, int count,
                        struct series *samples)
{
    bool root = collective->session->rank == 0;
    MPI_Reduce(root ? MPI_IN_PLACE : seconds, root ? seconds : NULL, count, MPI_DOUBLE, MPI_SUM, 0,
               MPI_COMM_WORLD);
    for (int i = 0; root && i < count; i++)
        series_add(samples, microseconds_each((uint64_t)collective->session->ranks, seconds[i]));
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct collective *collective = state;
    double seconds = 0.0, times[TIMES_CAPACITY];
    int pending = 0;
    for (uint64_t i = 0; i < count; i++) {
        times[pending] = run_once(collective);
        seconds += times[pending++];
        if (pending == TIMES_CAPACITY || i + 1 == count) {
            add_samples(collective, times, pending, samples);
            pending = 0;
        }
    }
    return seconds;
}

static double latency_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return microseconds_each(iterations, seconds);
}

static struct spread latencies_of_ranks(void *state, uint64_t iterations, double seconds)
{
    return agreement_spread(latency_us(state, iterations, seconds));
}

void collective_run(const struct session *session, const struct pattern *pattern)
{
    session_require_ranks(session, session->ranks >= 2, "at least 2 ranks");
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = pattern->method,
        .open = open_size,
        .batch = run_batch,
        .value = latency_us,
        .close = close_size,
        .agree = agreement_mean_of_all,
        .over_ranks = latencies_of_ranks,
    };
    struct collective collective = {.session = session, .pattern = pattern};
    sweep(session, &benchmark, &collective);
}

int collective_program(const struct program *program, const struct pattern *pattern, int argc,
                       char **argv)
{
    struct session session;
    session_start(&session, program, argc, argv);
    collective_run(&session, pattern);
    return session_finish();
}
