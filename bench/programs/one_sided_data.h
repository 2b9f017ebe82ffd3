// What one-sided operations move: the contents before an epoch, and the look at them after.
#ifndef FISHPLATE_BENCH_ONE_SIDED_DATA_H
#define FISHPLATE_BENCH_ONE_SIDED_DATA_H

#include "one_sided.h"

void one_sided_prepare(const struct one_sided *one_sided, int roles);

// Ends the job when something is wrong.
void one_sided_verify(const struct one_sided *one_sided, int roles);

#endif
