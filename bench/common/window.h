// A window of messages in flight and its acknowledgement.
#ifndef FISHPLATE_BENCH_WINDOW_H
#define FISHPLATE_BENCH_WINDOW_H

#include "buffer.h"
#include "session.h"

#include <mpi.h>

// Who a rank sends to and receives from; MPI_PROC_NULL: nobody. `flow` tells several
// windows between the same ranks apart.
struct route {
    int to, from;
    int flow;
};

// Without --check all messages leave from one buffer and arrive in one, as usual, for
// the contents are not looked at. With --check every message of a window has a slot of
// its own.
struct window {
    int rank;
    struct route route;
    size_t size;
    uint64_t count; // messages in a window
    bool check;
    uint64_t seed;
    uint64_t iteration; // running number, the same on both sides
    struct buffer send, receive;
    MPI_Request *requests;
    MPI_Status *statuses;
};

// Slots of one direction take no more than this on a rank; a window of messages that need
// more is made smaller where each has a slot. 64 messages of 4 MiB just fit.
#define WINDOW_MEMORY ((size_t)65 * 4 << 20)

// The window asked for, made smaller so that as many slots fit.
uint64_t window_fitting(const struct session *session, size_t size);

// The ranks are those of MPI_COMM_WORLD.
void window_open(struct window *window, const struct session *session, struct route route,
                 size_t size);
void window_close(struct window *window);

// Both sides call this before a batch: the sender must not start its clock before the
// receiver is where it is after an acknowledgement.
void window_ready(struct window *window);

// One window: returns its seconds on this rank, and verifies contents after that.
double window_run(struct window *window);

#endif
