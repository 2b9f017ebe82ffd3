// Windows of messages between rank 0 and rank 1, one way or both at once.
#ifndef FISHPLATE_BENCH_STREAM_H
#define FISHPLATE_BENCH_STREAM_H

#include "session.h"

#include <stdbool.h>

void stream_run(const struct session *session, bool both_ways);

#endif
