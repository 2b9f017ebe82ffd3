// Checks a received message and ends the job when it is wrong.
#ifndef FISHPLATE_BENCH_VERIFY_H
#define FISHPLATE_BENCH_VERIFY_H

#include "check.h"

#include <mpi.h>

// The contents alone.
void verify_content(const unsigned char *bytes, const struct content *content, uint64_t iteration);

// A message that others follow: without the guard.
void verify_block(const unsigned char *bytes, const struct content *content, uint64_t iteration);

// The length as well. `iteration` is for the error message. The status belongs to the message.
void verify(const unsigned char *bytes, const struct content *content, uint64_t iteration,
            const MPI_Status *status);

#endif
