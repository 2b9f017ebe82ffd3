// What a computation hid of a transfer, rank by rank.
#ifndef FISHPLATE_BENCH_OVERLAP_REPORT_H
#define FISHPLATE_BENCH_OVERLAP_REPORT_H

#include "sweep.h"

enum { OVERLAP_RANKS = 2 };

// What a transfer takes of a rank beside the computation.
struct overlap_cost {
    double start_us; // in the calls that start it
    double wait_us; // in the call that waits for it, after the computation if there is one
    bool computes;
};

// Of the waits of those who compute, of whom there is one at least. Costs are one for each rank.
struct spread overlap_spread(const struct overlap_cost *costs);

// After a result: what it is a part of, and whose. `alone_us`: a transfer without a computation.
void overlap_report(const struct session *session, const struct result *result, double alone_us,
                    double compute_us, const struct overlap_cost *costs);

#endif
