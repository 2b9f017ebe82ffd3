// The time of one synchronised operation between two ranks.
#ifndef FISHPLATE_BENCH_ONE_SIDED_LATENCY_H
#define FISHPLATE_BENCH_ONE_SIDED_LATENCY_H

#include "one_sided.h"

#define ONE_SIDED_LATENCY_TAKES (OPTIONS_SWEEP | OPTION_BIT(OPTION_SYNC))

// The whole program.
int one_sided_latency(const struct program *program, enum one_sided_kind kind, int argc,
                      char **argv);

#endif
