// Waiting without taking processor time from ranks that work.
#ifndef FISHPLATE_BENCH_IDLE_H
#define FISHPLATE_BENCH_IDLE_H

#include <mpi.h>

// A barrier that sleeps between polls: most MPI libraries spin in MPI_Barrier.
void idle_until_all_done(MPI_Comm comm);

// Lets another process run, when a poll found nothing to do.
void idle_yield(void);

#endif
