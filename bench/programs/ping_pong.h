// Round trips of one message between two ranks.
#ifndef FISHPLATE_BENCH_PING_PONG_H
#define FISHPLATE_BENCH_PING_PONG_H

#include "buffer.h"
#include "session.h"
#include "sweep.h"

#include <mpi.h>

struct ping_pong {
    const struct session *session;
    int peer; // rank in MPI_COMM_WORLD
    bool first; // this side sends first
    int tag; // tells round trips of several threads apart
    size_t size;
    uint64_t iteration; // running number, the same on both ranks
    struct buffer send, receive;
};

void ping_pong_open(struct ping_pong *ping_pong, const struct session *session, int peer, int tag,
                    size_t size);
void ping_pong_close(struct ping_pong *ping_pong);

// Both sides call this before a batch: the first must not start its clock before the other
// waits for its message.
void ping_pong_ready(const struct ping_pong *ping_pong);

// Returns the seconds of the round trip as this rank sees it; those of the second side
// start with waiting.
double ping_pong_round(struct ping_pong *ping_pong);

// A batch of round trips as sweep.h wants it: the first side's count.
double ping_pong_batch(struct ping_pong *ping_pong, uint64_t count, struct series *samples);

// The value of a benchmark: half of the round trip.
double ping_pong_half_us(const void *state, uint64_t iterations, double seconds);

// What all benchmarks of round trips have in common; they add how they open, run and close.
struct benchmark ping_pong_benchmark(const char *method);

#endif
