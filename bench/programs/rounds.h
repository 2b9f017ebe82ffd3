// Rounds of a bandwidth benchmark: windows of messages or of one-sided operations between two ranks.
#ifndef FISHPLATE_BENCH_ROUNDS_H
#define FISHPLATE_BENCH_ROUNDS_H

#include "sweep.h"

#include <stdbool.h>

struct rounds {
    const struct session *session;
    bool both_ways; // bytes of both ranks count
    size_t size;
    uint64_t count; // messages or operations of a round, one way
};

// MB/s of so many rounds.
double rounds_rate(const struct rounds *rounds, uint64_t iterations, double seconds);

// Runs `count` rounds, each of which returns its seconds; returns their sum on this rank.
// Rank 0 adds the rate of each to the samples.
double rounds_batch(const struct rounds *rounds, uint64_t count, struct series *samples,
                    double (*round)(void *state), void *state);

#endif
