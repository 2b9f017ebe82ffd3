// Windows of broadcasts from rank 0, each acknowledged by every rank.
#ifndef FISHPLATE_BENCH_BCAST_WINDOW_H
#define FISHPLATE_BENCH_BCAST_WINDOW_H

#include "session.h"

void bcast_window_run(const struct session *session);

#endif
