// Contents of collective operations that leave a block from each rank.
#ifndef FISHPLATE_BENCH_BLOCKS_H
#define FISHPLATE_BENCH_BLOCKS_H

#include "collective.h"

// `block`: which of its blocks each rank sends here.
void blocks_poison(struct collective *collective, int block);
void blocks_verify(const struct collective *collective, int block);

#endif
