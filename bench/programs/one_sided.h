// Remote memory of two ranks, and epochs of operations on it.
#ifndef FISHPLATE_BENCH_ONE_SIDED_H
#define FISHPLATE_BENCH_ONE_SIDED_H

#include "buffer.h"
#include "session.h"

#include <mpi.h>

enum one_sided_kind { ONE_SIDED_PUT, ONE_SIDED_GET, ONE_SIDED_ACCUMULATE };

// What a rank does in an epoch; both is possible.
enum { ONE_SIDED_ORIGIN = 1, ONE_SIDED_TARGET = 2 };

// Each operation of an epoch has a place of its own where it is written, as MPI wants;
// what is read may be the same for all. With --check nothing is shared.
struct one_sided {
    const struct session *session;
    enum one_sided_kind kind;
    int peer;
    size_t size;
    uint64_t count; // operations of an epoch
    uint64_t epoch; // running number, the same on both ranks
    struct buffer local, exposed;
    MPI_Win window;
    MPI_Group peer_group;
};

// Ranks 0 and 1 of MPI_COMM_WORLD, which are all. `roles`: all that this rank will have.
void one_sided_open(struct one_sided *one_sided, const struct session *session,
                    enum one_sided_kind kind, uint64_t count, size_t size, int roles);
void one_sided_close(struct one_sided *one_sided);

// Both call this before a batch.
void one_sided_ready(const struct one_sided *one_sided);

// One epoch: returns its seconds on this rank, and verifies contents after that. Both
// ranks call it, with roles that fit.
double one_sided_run(struct one_sided *one_sided, int roles);

#endif
