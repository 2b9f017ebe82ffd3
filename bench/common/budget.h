// How many iterations the next batch has when a size is given time instead of a count.
#ifndef FISHPLATE_BENCH_BUDGET_H
#define FISHPLATE_BENCH_BUDGET_H

#include <stdint.h>

struct budget {
    double seconds; // to spend
    double spent;
    uint64_t iterations; // done
    uint64_t batch; // size of the last batch
};

// Zero when the budget is spent. The first batch is one iteration.
uint64_t budget_next(const struct budget *budget);

void budget_add(struct budget *budget, uint64_t iterations, double seconds);

#endif
