// One message, usually a very large one, from rank 0 to rank 1.
#ifndef FISHPLATE_BENCH_STRESS_SINGLE_H
#define FISHPLATE_BENCH_STRESS_SINGLE_H

#include "session.h"

void stress_single(const struct session *session);

#endif
