// The side that answers: each connection in a thread of its own, until the program is ended.
#ifndef FISHPLATE_BENCH_SOCKETS_SERVER_H
#define FISHPLATE_BENCH_SOCKETS_SERVER_H

#include "session.h"

int sockets_serve(const struct session *session);

#endif
