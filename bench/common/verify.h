// Checks a received message and ends the job when it is wrong.
#ifndef FISHPLATE_BENCH_VERIFY_H
#define FISHPLATE_BENCH_VERIFY_H

#include "check.h"

#include <mpi.h>

// `iteration` is for the error message. The status belongs to the message.
void verify(const unsigned char *bytes, const struct content *content, uint64_t iteration,
            const MPI_Status *status);

#endif
