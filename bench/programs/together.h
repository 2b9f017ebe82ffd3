// Ranks that start at agreed times, each by its own clock. The window-based synchronisation
// of SKaMPI and ReproMPI: see docs/reference/benchmarks.md.
#ifndef FISHPLATE_BENCH_TOGETHER_H
#define FISHPLATE_BENCH_TOGETHER_H

#include "schedule.h"
#include "session.h"

struct together {
    const struct session *session;
    double ahead; // this rank's clock, of rank 0's
    double farthest; // on rank 0: the round trip to the rank farthest away
    struct schedule schedule; // by this rank's clock
    int punctuality[SCHEDULE_STARTS]; // of this rank, by start
};

// Every rank calls the same, in the same order. Begins with operations that take so many
// seconds on this rank, and with the clocks, which drift.
void together_begin(struct together *together, double seconds);

// Agrees on the next starts.
void together_agree(struct together *together);

// Waits for one of them, counted from 0, and returns its time by MPI_Wtime. A rank that comes
// later does not wait.
double together_wait(struct together *together, int start);

// When the operations of `count` starts are over: keeps those samples that count on every
// rank, and returns how many they are.
int together_keep(struct together *together, double *samples, int count);

#endif
