// Contents of collective sums of 4-byte integers: MPI_SUM of MPI_UINT32_T.
#ifndef FISHPLATE_BENCH_REDUCTION_H
#define FISHPLATE_BENCH_REDUCTION_H

#include "collective.h"

// Integers in a rank's contribution.
int reduction_words(const struct collective *collective);

void reduction_prepare(struct collective *collective);

// Of a rank that receives the sum.
void reduction_verify(struct collective *collective);

#endif
