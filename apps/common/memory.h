// Whether the ranks of a host find the memory they are about to take.
#ifndef FISHPLATE_APPS_MEMORY_H
#define FISHPLATE_APPS_MEMORY_H

#include "session.h"

#include <stdint.h>

// Ends the job with exit code 4 when a host has less than its ranks need together. Linux
// hands out memory that is not there, and kills whoever writes to it.
void memory_require(const struct session *session, uint64_t bytes);

#endif
