// Bandwidth over time: one size, one value per interval, as figure 20 of the multirail paper.
#ifndef FISHPLATE_BENCH_INTERVAL_H
#define FISHPLATE_BENCH_INTERVAL_H

#include "session.h"

// Rank 0 sends to rank 1; rank 1 counts what arrived; rank 0 prints.
void interval_run(const struct session *session);

#endif
