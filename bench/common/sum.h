// Sums of contents, word by word as MPI_SUM of MPI_UINT32_T.
#ifndef FISHPLATE_BENCH_SUM_H
#define FISHPLATE_BENCH_SUM_H

#include "check.h"

// Takes a content away from a sum of contents. The size is a multiple of four.
void sum_subtract(unsigned char *bytes, const struct content *content);

#endif
