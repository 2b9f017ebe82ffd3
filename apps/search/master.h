// Rank 0 hands out units of work to the others, one after the other to whoever asks, and collects
// what they find. One rank alone does both.
#ifndef FISHPLATE_APPS_MASTER_H
#define FISHPLATE_APPS_MASTER_H

#include "worker.h"

// On rank 0 fills `hits`, sorted.
void master_run(struct worker *worker, int rank, int ranks, struct hits *hits);

#endif
