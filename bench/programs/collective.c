#include "collective.h"

#include "agreement.h"
#include "rate.h"
#include "sweep.h"

#include <stdio.h>

// Iterations whose times are added up over the ranks at once.
enum { TIMES_CAPACITY = SCHEDULE_STARTS };

// Iterations that tell how long a barrier and an operation take.
enum { TRIALS = 5 };

// The longest method and how it starts.
enum { METHOD_CAPACITY = 160 };

struct content collective_content(const struct collective *collective, int source, int block)
{
    uint64_t blocks = (uint64_t)collective->session->ranks;
    return (struct content){collective->session->options.seed, source,
                            collective->iteration * blocks + (uint64_t)block, collective->size};
}

static bool starts_together(const struct collective *collective)
{
    return collective->session->options.start == START_TOGETHER;
}

// Returns the start that counts. `place` is that among agreed ones.
static double wait_for_start(struct collective *collective, enum start how, int place)
{
    if (how == START_TOGETHER)
        return together_wait(&collective->together, place);
    // Ranks that are late would make the others' times longer.
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static double run_once(struct collective *collective, enum start how, int place)
{
    const struct pattern *pattern = collective->pattern;
    bool check = collective->session->options.check;
    if (check)
        pattern->prepare(collective);
    double started = wait_for_start(collective, how, place);
    pattern->run(collective);
    double seconds = MPI_Wtime() - started;
    if (check)
        pattern->verify(collective);
    collective->iteration++;
    return seconds;
}

static void prepare_together(struct collective *collective)
{
    double times[TRIALS];
    // The first iteration may set up connections.
    run_once(collective, START_BARRIER, 0);
    for (int i = 0; i < TRIALS; i++) {
        // With the barrier: after one that lets ranks go at different times, the operation alone
        // would seem short to those that come late.
        double begun = MPI_Wtime();
        run_once(collective, START_BARRIER, 0);
        times[i] = MPI_Wtime() - begun;
    }
    together_begin(&collective->together, median(times, TRIALS));
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
    if (starts_together(collective))
        prepare_together(collective);
    return 0;
}

static void close_size(void *state)
{
    struct collective *collective = state;
    buffer_destroy(&collective->send);
    buffer_destroy(&collective->receive);
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

// Returns how many of the iterations count.
static int run_some(struct collective *collective, double *times, int count)
{
    enum start how = collective->session->options.start;
    if (starts_together(collective))
        together_agree(&collective->together);
    for (int i = 0; i < count; i++)
        times[i] = run_once(collective, how, i);
    return starts_together(collective) ? together_keep(&collective->together, times, count) : count;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct collective *collective = state;
    double seconds = 0.0, times[TIMES_CAPACITY];
    while (count > 0) {
        int some = run_some(collective, times, count < TIMES_CAPACITY ? (int)count : TIMES_CAPACITY);
        for (int i = 0; i < some; i++)
            seconds += times[i];
        if (some > 0)
            add_samples(collective, times, some, samples);
        count -= (uint64_t)some;
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
    struct collective collective = {.session = session, .pattern = pattern,
                                    .together.session = session};
    char method[METHOD_CAPACITY];
    snprintf(method, sizeof method, "%s%s", pattern->method,
             starts_together(&collective) ? ", started together" : "");
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = method,
        .open = open_size,
        .batch = run_batch,
        .value = latency_us,
        .close = close_size,
        .agree = agreement_mean_of_all,
        .over_ranks = latencies_of_ranks,
    };
    sweep(session, &benchmark, &collective);
}
