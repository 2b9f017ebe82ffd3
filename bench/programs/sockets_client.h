// The side that measures.
#ifndef FISHPLATE_BENCH_SOCKETS_CLIENT_H
#define FISHPLATE_BENCH_SOCKETS_CLIENT_H

#include "session.h"

int sockets_latency(struct session *session, const char *host);
int sockets_bandwidth(struct session *session, const char *host);

#endif
