#include "sweep.h"

#include "budget.h"
#include "buffer.h"
#include "report.h"

#include <stdlib.h>

struct course {
    const struct options *options;
    const struct benchmark *benchmark;
    void *state;
    MPI_Comm comm;
    struct series samples;
};

struct count_and_time {
    uint64_t iterations;
    double seconds;
};

// The time of a batch is that of the slowest rank. With --check it is shorter than what
// the batch took, and only the latter counts against the budget.
static double run_batch(struct course *course, uint64_t count, double *wall_seconds)
{
    double start = MPI_Wtime();
    double times[2];
    times[0] = course->benchmark->batch(course->state, count, &course->samples);
    times[1] = MPI_Wtime() - start;
    // Every rank gets the same result, hence the same iteration counts from the budget;
    // this is how the ranks agree without a message inside of what is measured.
    double slowest[2];
    MPI_Allreduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, course->comm);
    *wall_seconds = slowest[1];
    return slowest[0];
}

static struct count_and_time run_for(struct course *course, double seconds)
{
    struct count_and_time done = {0, 0.0};
    struct budget budget = {.seconds = seconds};
    uint64_t count;
    while ((count = budget_next(&budget)) > 0) {
        double wall_seconds;
        done.seconds += run_batch(course, count, &wall_seconds);
        done.iterations += count;
        budget_add(&budget, count, wall_seconds);
    }
    return done;
}

static struct count_and_time run_count(struct course *course, uint64_t count)
{
    struct count_and_time done = {count, 0.0};
    double wall_seconds;
    if (count > 0)
        done.seconds = run_batch(course, count, &wall_seconds);
    return done;
}

static void warm_up(struct course *course)
{
    const struct options *options = course->options;
    if (options_given(options, OPTION_WARMUP)) {
        run_count(course, options->warmup);
    } else if (options->iterations > 0) {
        run_count(course, options->iterations / 10 + 1);
    } else {
        // The first iteration may set up connections, which tells nothing about the others.
        run_count(course, 1);
        run_for(course, options->seconds / 10.0);
    }
}

static void measure_size(struct course *course, const struct session *session, size_t size,
                         uint64_t pairs)
{
    const struct options *options = course->options;
    const struct benchmark *benchmark = course->benchmark;
    struct result result = {.size = size, .pairs = pairs, .repeats = options->repeats};
    result.window = benchmark->open(course->state, size);
    double *values = allocate(options->repeats * sizeof *values);

    warm_up(course);
    series_clear(&course->samples);
    for (uint64_t repeat = 0; repeat < options->repeats; repeat++) {
        struct count_and_time done = options->iterations > 0
            ? run_count(course, options->iterations)
            : run_for(course, options->seconds);
        values[repeat] = benchmark->value(course->state, done.iterations, done.seconds);
        result.iterations += done.iterations;
        result.seconds += done.seconds;
    }
    if (session->rank == 0) {
        result.repeat_values = values;
        result.has_summary = course->samples.count > 0;
        result.summary = series_summarize(&course->samples);
        report_result(session, benchmark, &result);
    }
    free(values);
    benchmark->close(course->state);
}

void sweep(const struct session *session, const struct benchmark *benchmark, void *state,
           MPI_Comm comm, uint64_t pairs)
{
    struct course course = {
        .options = &session->options, .benchmark = benchmark, .state = state, .comm = comm};
    if (!series_create(&course.samples))
        session_abort(EXIT_MEMORY, "no memory for samples");
    if (session->rank == 0)
        report_header(session, benchmark, pairs);
    for (uint64_t i = 0; i < session->options.size_count; i++)
        measure_size(&course, session, session->options.sizes[i], pairs);
    series_destroy(&course.samples);
}
