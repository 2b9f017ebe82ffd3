// Who sends what to whom: the same on every rank, from the seed alone.
#ifndef FISHPLATE_BENCH_STRESS_PLAN_H
#define FISHPLATE_BENCH_STRESS_PLAN_H

#include "random.h"

#include <stddef.h>
#include <stdint.h>

// How the receiver asks for a message. Sender and receiver agree on the lane, since a
// wildcard must not take what a receive without one waits for.
enum lane {
    LANE_EXACT, // source and tag
    LANE_ANY_SOURCE, // any source, one tag
    LANE_PROBE, // MPI_Iprobe for any source, then MPI_Recv
    LANE_MATCHED_PROBE, // MPI_Improbe for source and tag, then MPI_Imrecv
    LANE_ANY_TAG, // one source, any tag
    LANE_ANYTHING, // any source, any tag
    LANE_ANYTHING_PROBED, // MPI_Improbe for any source and any tag, then MPI_Mrecv
    LANE_COUNT
};

// Messages and buffer bytes a source has under way in a round; the second gives way to
// a single message that is larger. Both bound the memory of senders and receivers.
enum { PLAN_ROUND_MESSAGES = 64, PLAN_ROUND_BYTES = 16 << 20 };

// Most messages are no larger; receivers that do not know the size expect this.
enum { PLAN_SMALL_SIZE = 64 << 10 };

struct planned {
    int source, destination, tag;
    enum lane lane;
    size_t size;
    size_t capacity; // of the receive buffer
    uint64_t sequence; // at the source
};

// The messages of one source.
struct plan {
    struct random random;
    int source, ranks;
    size_t max_size;
    uint64_t left; // not yet handed out, without `held`
    uint64_t sequence;
    struct planned held; // did not fit in the last round
    int has_held;
};

// `messages` is the number over all sources.
struct plan plan_start(uint64_t seed, int source, int ranks, uint64_t messages, size_t max_size);

// Writes the messages of the next round in the order of sending and returns how many;
// 0 when all are done.
size_t plan_round(struct plan *plan, struct planned messages[PLAN_ROUND_MESSAGES]);

// Whether the tag decides which receive on its communicator a message meets.
int plan_is_by_tag(enum lane lane);

#endif
