#include "sweep.h"

#include "budget.h"
#include "buffer.h"
#include "clock.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

struct course {
    const struct session *session;
    const struct benchmark *benchmark;
    void *state;
    struct series samples;
    double own_seconds; // of this process
};

struct count_and_time {
    uint64_t iterations;
    double seconds;
};

// With --check what counts is shorter than what the batch took, and only the latter counts
// against the budget.
static double run_batch(struct course *course, uint64_t count, double *wall_seconds)
{
    double start = clock_seconds();
    double times[2];
    times[0] = course->benchmark->batch(course->state, count, &course->samples);
    times[1] = clock_seconds() - start;
    course->own_seconds += times[0];
    course->benchmark->agree(course->state, times);
    *wall_seconds = times[1];
    return times[0];
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
    const struct options *options = &course->session->options;
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

static struct count_and_time run_repeat(struct course *course)
{
    const struct options *options = &course->session->options;
    return options->iterations > 0 ? run_count(course, options->iterations)
                                   : run_for(course, options->seconds);
}

static void summarize(struct course *course, struct result *result)
{
    size_t bytes = result->repeats * sizeof(double);
    double *sorted = allocate(bytes);
    memcpy(sorted, result->repeat_values, bytes);
    result->value = median(sorted, result->repeats); // sorts
    result->least_repeat = sorted[0];
    result->greatest_repeat = sorted[result->repeats - 1];
    free(sorted);
    result->has_percentiles = course->samples.count > 0;
    result->percentiles = series_summarize(&course->samples);
}

// Which turn of its size a place in the list of sizes has, or 0 where that is the only one.
static uint64_t turn_at(const struct options *options, uint64_t place)
{
    uint64_t turn = 0, turns = 0;
    for (uint64_t i = 0; i < options->size_count; i++) {
        if (options->sizes[i] != options->sizes[place])
            continue;
        turns++;
        if (i == place)
            turn = turns;
    }
    return turns > 1 ? turn : 0;
}

static void measure(struct course *course, uint64_t place, uint64_t parameter)
{
    const struct session *session = course->session;
    const struct benchmark *benchmark = course->benchmark;
    struct result result = {.size = session->options.sizes[place],
                            .parameter = parameter,
                            .turn = turn_at(&session->options, place),
                            .repeats = session->options.repeats};
    result.window = benchmark->open(course->state, result.size, parameter);
    double *values = allocate(result.repeats * sizeof *values);
    result.repeat_values = values;

    warm_up(course);
    series_clear(&course->samples);
    course->own_seconds = 0.0;
    if (benchmark->begin != NULL)
        benchmark->begin(course->state);
    for (uint64_t repeat = 0; repeat < result.repeats; repeat++) {
        struct count_and_time done = run_repeat(course);
        values[repeat] = benchmark->value(course->state, done.iterations, done.seconds);
        result.iterations += done.iterations;
        result.seconds += done.seconds;
    }
    if (benchmark->over_ranks != NULL)
        result.over_ranks =
            benchmark->over_ranks(course->state, result.iterations, course->own_seconds);
    if (session->rank == 0) {
        summarize(course, &result);
        report_result(session, benchmark, &result);
        if (benchmark->reported != NULL)
            benchmark->reported(course->state, &result);
    }
    free(values);
    benchmark->close(course->state);
}

void sweep(const struct session *session, const struct benchmark *benchmark, void *state)
{
    struct course course = {.session = session, .benchmark = benchmark, .state = state};
    if (!series_create(&course.samples))
        session_abort(EXIT_MEMORY, "no memory for samples");
    if (session->rank == 0)
        report_header(session, benchmark);
    uint64_t last = benchmark->parameter != NULL ? benchmark->last : benchmark->first;
    for (uint64_t i = 0; i < session->options.size_count; i++)
        for (uint64_t parameter = benchmark->first; parameter <= last; parameter++)
            measure(&course, i, parameter);
    series_destroy(&course.samples);
}
