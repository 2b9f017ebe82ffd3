// The common course of the benchmarks: for each size warm up, measure, report.
#ifndef FISHPLATE_BENCH_SWEEP_H
#define FISHPLATE_BENCH_SWEEP_H

#include "session.h"
#include "statistics.h"

#include <mpi.h>

// What one benchmark is. `state` is its own; every rank of the communicator calls the
// same functions in the same order.
struct benchmark {
    const char *column; // title over the values
    const char *unit;
    int decimals; // of the values in text
    const char *method; // one line for the header

    // Makes buffers for a size. Returns the window used, or 0 when there is none.
    uint64_t (*open)(void *state, size_t size);

    // Runs `count` iterations. Returns the seconds they took on this rank, without
    // preparing and checking contents. Rank 0 may add one sample per iteration, in `unit`.
    double (*batch)(void *state, uint64_t count, struct series *samples);

    // The value reported for so many iterations in so many seconds.
    double (*value)(const void *state, uint64_t iterations, double seconds);

    void (*close)(void *state);
};

// `pairs` is only reported; 0 leaves it out.
void sweep(const struct session *session, const struct benchmark *benchmark, void *state,
           MPI_Comm comm, uint64_t pairs);

#endif
