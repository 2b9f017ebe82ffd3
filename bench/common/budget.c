#include "budget.h"

// Enough batches that one hiccup does not decide how many iterations there are, few
// enough that agreeing on each is not felt.
static const double batches_per_budget = 8.0;

// A batch grows by no more than this, so that a lucky first one does not mislead.
static const uint64_t growth = 8;

uint64_t budget_next(const struct budget *budget)
{
    if (budget->iterations == 0)
        return 1;
    double left = budget->seconds - budget->spent;
    if (left <= 0.0)
        return 0;
    uint64_t most = budget->batch * growth;
    if (budget->spent <= 0.0)
        return most;
    double share = budget->seconds / batches_per_budget;
    double time = left < share ? left : share;
    double wanted = time / budget->spent * (double)budget->iterations;
    if (wanted >= (double)most)
        return most;
    return wanted < 1.0 ? 1 : (uint64_t)wanted;
}

void budget_add(struct budget *budget, uint64_t iterations, double seconds)
{
    budget->batch = iterations;
    budget->iterations += iterations;
    budget->spent += seconds;
}
