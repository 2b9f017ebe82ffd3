// Windows of operations between two ranks, each completed by one synchronisation.
#ifndef FISHPLATE_BENCH_ONE_SIDED_BANDWIDTH_H
#define FISHPLATE_BENCH_ONE_SIDED_BANDWIDTH_H

#include "one_sided.h"

#define ONE_SIDED_BANDWIDTH_TAKES                                                                  \
    (OPTIONS_SWEEP | OPTION_BIT(OPTION_SYNC) | OPTION_BIT(OPTION_WINDOW))

// The whole program. One way, rank 0 is the origin.
int one_sided_bandwidth(const struct program *program, enum one_sided_kind kind, bool both_ways,
                        int argc, char **argv);

#endif
