// A computation that calls no MPI: nothing of a transfer goes on by itself meanwhile, unless the
// MPI library, its transport or the kernel see to it.
#ifndef FISHPLATE_BENCH_COMPUTE_H
#define FISHPLATE_BENCH_COMPUTE_H

#include "options.h"
#include "random.h"

struct compute {
    double seconds;
    double imbalance; // up to so many seconds more
    int by; // enum compute_by
    struct random random;
};

// As the options say; those of a rank are random in their own way.
struct compute compute_create(const struct options *options, int rank);

// How long the next one takes.
double compute_next(struct compute *compute);

// Computes for so long.
void compute_run(const struct compute *compute, double seconds);

#endif
