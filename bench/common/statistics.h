// Samples of a measurement and what is reported of them.
#ifndef FISHPLATE_BENCH_STATISTICS_H
#define FISHPLATE_BENCH_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

// Count, sum, least and greatest are of all samples. Percentiles come from the kept
// ones: every sample up to SERIES_CAPACITY, then every second, every fourth and so on,
// so that memory is bounded however long a run is.
enum { SERIES_CAPACITY = 1 << 17 };

struct series {
    uint64_t count;
    double sum, min, max;
    uint64_t stride; // one of so many samples is kept
    size_t kept_count;
    double *kept; // SERIES_CAPACITY of them
};

struct summary {
    double min, p50, p90, p99, p99_9, max, mean;
};

// False when there is no memory.
int series_create(struct series *series);
void series_clear(struct series *series);
void series_destroy(struct series *series);

void series_add(struct series *series, double sample);

// Sorts the kept samples; clear the series before adding more. All zero when empty.
struct summary series_summarize(struct series *series);

// The middle of `count` values, the mean of the two middle ones when even. Sorts them.
double median(double *values, size_t count);

// Nearest rank: the least value with at least `percent` of 100 at or below it.
double percentile(const double *sorted, size_t count, double percent);

#endif
