// The common course of the benchmarks: for each size warm up, measure, report.
#ifndef FISHPLATE_BENCH_SWEEP_H
#define FISHPLATE_BENCH_SWEEP_H

#include "record.h"

// What was measured of a size, and of a value of the parameter where there is one.
struct result {
    size_t size;
    uint64_t parameter;
    uint64_t turn; // of a size that is measured several times, from 1; 0: it is measured once
    uint64_t window; // 0: none
    uint64_t iterations; // over all repeats
    double seconds; // over all repeats
    double value; // the median of the repeats
    uint64_t repeats;
    const double *repeat_values; // in order of time
    double least_repeat, greatest_repeat;
    bool has_percentiles;
    struct summary percentiles; // of single iterations
    struct spread over_ranks; // where the benchmark has them
};

// How latencies and bandwidths are told.
#define SWEEP_LATENCY .metric = "latency", .unit = "us", .column = "Latency (us)", .decimals = 2
#define SWEEP_BANDWIDTH                                                                            \
    .metric = "bandwidth", .unit = "MB/s", .column = "Bandwidth (MB/s)", .decimals = 2

// What one benchmark is. `state` is its own; every process that takes part calls the same
// functions in the same order.
struct benchmark {
    const char *metric, *unit; // as in record.h
    const char *column; // title over the values
    int decimals; // of the values in text
    const char *method; // one line for the header
    uint64_t pairs; // above 0, text has the value of each pair as well

    // What else is varied: each size is measured with the values from first to last.
    const char *parameter; // NULL: nothing
    uint64_t first, last;

    // Makes buffers for a size. Returns the window used, or 0 when there is none.
    uint64_t (*open)(void *state, size_t size, uint64_t parameter);

    // Called when the warm-up of a size is over. NULL: nothing to do.
    void (*begin)(void *state);

    // Runs `count` iterations. Returns the seconds they took in this process, without
    // preparing and checking contents. Rank 0 may add one sample per iteration, in `unit`.
    double (*batch)(void *state, uint64_t count, struct series *samples);

    // The value reported for so many iterations in so many seconds.
    double (*value)(const void *state, uint64_t iterations, double seconds);

    void (*close)(void *state);

    // The seconds of a batch that count: by those of all processes, the slowest's or their
    // mean. The second number is what the batch took altogether; the slowest's counts.
    // Every process gets the same, hence the same iteration counts; this is how they agree
    // without a message inside of what is measured.
    void (*agree)(void *state, double seconds[2]);

    // The ranks' own values, from the seconds of this one. NULL: they are not told.
    struct spread (*over_ranks)(void *state, uint64_t iterations, double seconds);

    // Called on rank 0 after a result was reported. NULL: nothing to do.
    void (*reported)(void *state, const struct result *result);
};

void sweep(const struct session *session, const struct benchmark *benchmark, void *state);

#endif
