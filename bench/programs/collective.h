// The latency of a collective operation over all ranks.
#ifndef FISHPLATE_BENCH_COLLECTIVE_H
#define FISHPLATE_BENCH_COLLECTIVE_H

#include "buffer.h"
#include "check.h"
#include "session.h"
#include "together.h"

#include <mpi.h>

struct collective {
    const struct session *session;
    const struct pattern *pattern;
    size_t size; // of one rank's contribution, or of one block where there are several
    uint64_t iteration; // running number, the same on all ranks
    struct buffer send, receive;
    struct together together; // with --start together
};

// What one collective operation is. Functions that need nothing are NULL.
struct pattern {
    const char *method; // one line for the header
    bool sends_blocks, receives_blocks; // one of the size for each rank, not just one
    void (*run)(struct collective *collective); // the operation itself
    void (*prepare)(struct collective *collective);
    void (*verify)(struct collective *collective); // ends the job when something is wrong
};

void collective_run(const struct session *session, const struct pattern *pattern);

// The content that a rank contributes to this iteration, or, where it sends one block to
// each rank, its block for one of them.
struct content collective_content(const struct collective *collective, int source, int block);

#endif
