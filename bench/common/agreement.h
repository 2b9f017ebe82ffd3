// The times of a batch, agreed between ranks; see `agree` in sweep.h.
#ifndef FISHPLATE_BENCH_AGREEMENT_H
#define FISHPLATE_BENCH_AGREEMENT_H

#include "record.h"

#include <mpi.h>

// Those of the slowest of the communicator.
void agreement_slowest(MPI_Comm comm, double seconds[2]);

// The same over MPI_COMM_WORLD, for benchmarks that all ranks take part in.
void agreement_slowest_of_all(void *state, double seconds[2]);

// The mean of the first over MPI_COMM_WORLD, the slowest of the second.
void agreement_mean_of_all(void *state, double seconds[2]);

// Least, mean and greatest of a value over MPI_COMM_WORLD.
struct spread agreement_spread(double value);

#endif
