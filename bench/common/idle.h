// Waiting without taking processor time from ranks that work.
#ifndef FISHPLATE_BENCH_IDLE_H
#define FISHPLATE_BENCH_IDLE_H

#include <mpi.h>

// Waits for a request, sleeping between polls: most MPI libraries spin.
void idle_wait(MPI_Request *request);

// A barrier that sleeps between polls.
void idle_until_all_done(MPI_Comm comm);

// Until a time by MPI_Wtime: MPI goes on, and other processes may run until it is close.
void idle_until(double time);

// Lets another process run, when a poll found nothing to do.
void idle_yield(void);

#endif
