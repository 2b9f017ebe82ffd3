// Threads of one process that do the same at once.
#ifndef FISHPLATE_BENCH_TEAM_H
#define FISHPLATE_BENCH_TEAM_H

#include "statistics.h"

#include <stdint.h>

struct team;

// What the threads took, each for itself, in seconds.
struct team_seconds {
    double slowest, mean;
};

// What each thread does; returns the seconds that it took. `member` counts from 0, which is the
// calling thread.
typedef double team_work(void *state, uint64_t member, struct team *team);

// Runs the work in so many threads; returns when all are done. Aborts the job when the
// system gives no more threads.
struct team_seconds team_run(uint64_t threads, team_work *work, void *state,
                             struct series *samples);

// Waits until all threads of the team are here.
void team_wait(struct team *team);

// Adds to the samples that team_run was given; kept apart and handed over now and then, so
// that threads do not wait for each other between what they time.
void team_add(struct team *team, uint64_t member, double sample);

#endif
