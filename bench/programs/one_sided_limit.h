// MPICH over a libfabric provider without remote memory access carries one-sided operations
// in messages. Where two beyond about 16 KiB are under way it overwrites the header of the
// second, and ends with a segmentation fault (5.0.2).
#ifndef FISHPLATE_BENCH_ONE_SIDED_LIMIT_H
#define FISHPLATE_BENCH_ONE_SIDED_LIMIT_H

#include "session.h"

// From here on, such an end is explained on stderr. Does nothing for other libraries.
void one_sided_limit_explain(const struct session *session);

#endif
