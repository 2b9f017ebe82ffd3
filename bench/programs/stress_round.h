// One round of the stress: its sends and receives in random order, then the check.
#ifndef FISHPLATE_BENCH_STRESS_ROUND_H
#define FISHPLATE_BENCH_STRESS_ROUND_H

#include "session.h"
#include "stress_plan.h"

#include <mpi.h>
#include <stdbool.h>

// Lanes on communicators of their own, so that their wildcards meet only each other.
enum stress_group { GROUP_BY_TAG, GROUP_ANY_TAG, GROUP_ANYTHING, GROUP_PROBED, GROUP_COUNT };

struct incoming {
    struct planned spec; // how it was asked for; source and tag as far as the lane names them
    unsigned char *bytes;
    MPI_Status status;
    size_t request; // index, or SIZE_MAX when the receive was blocking
};

struct stress_round {
    const struct session *session;
    const MPI_Comm *comms; // GROUP_COUNT of them
    struct random *random;
    uint64_t number;

    struct planned sends[PLAN_ROUND_MESSAGES];
    size_t send_count, sent;
    unsigned char *send_bytes[PLAN_ROUND_MESSAGES];

    // At most PLAN_ROUND_MESSAGES per rank in each of these.
    struct planned *expected; // by source, then in the order of sending
    bool *taken;
    size_t expected_count;
    struct planned *to_post, *to_probe;
    size_t to_post_count, to_probe_count;
    struct incoming *incoming; // in the order of matching
    size_t incoming_count;
    MPI_Request *requests;
    MPI_Status *statuses;
    size_t request_count;
};

// Makes the tables, once for all rounds.
void stress_round_open(struct stress_round *round, const struct session *session,
                       struct random *random);
void stress_round_close(struct stress_round *round);

// Forgets the round before; then messages from and to this rank are added, those of a
// source in the order of sending.
void stress_round_clear(struct stress_round *round, uint64_t number, const MPI_Comm *comms);
void stress_round_add(struct stress_round *round, const struct planned *message);

// Sends, receives and checks all of them.
void stress_round_run(struct stress_round *round);

#endif
