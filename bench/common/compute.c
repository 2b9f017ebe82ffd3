#define _POSIX_C_SOURCE 200809L

#include "compute.h"

#include "clock.h"

#include <time.h>

struct compute compute_create(const struct options *options, int rank)
{
    return (struct compute){
        .seconds = (double)options->compute * 1e-6,
        .imbalance = (double)options->imbalance * 1e-6,
        .by = options->compute_by,
        .random = random_stream(options->seed, (uint64_t)rank),
    };
}

double compute_next(struct compute *compute)
{
    if (compute->imbalance <= 0.0)
        return compute->seconds;
    const uint64_t steps = UINT64_C(1) << 32;
    double part = (double)random_below(&compute->random, steps) / (double)steps;
    return compute->seconds + part * compute->imbalance;
}

static void nap(double seconds)
{
    time_t whole = (time_t)seconds;
    const struct timespec length = {whole, (long)((seconds - (double)whole) * 1e9)};
    nanosleep(&length, NULL);
}

void compute_run(const struct compute *compute, double seconds)
{
    if (seconds <= 0.0)
        return;
    double until = clock_seconds() + seconds;
    // A nap may end early, by a signal.
    for (double left = seconds; left > 0.0; left = until - clock_seconds())
        if (compute->by == COMPUTE_BY_SLEEP)
            nap(left);
}
