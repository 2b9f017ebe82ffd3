// A rank that computes, without a call of MPI, until another one has got somewhere: it is told by a file.
#ifndef FISHPLATE_TESTS_TOLD_H
#define FISHPLATE_TESTS_TOLD_H

#include <time.h>

#include "common.h"

#include <unistd.h>

enum { TOLD_SECONDS = 60 };

static inline void name_told(char *name, size_t size, const char *folder, int run)
{
    snprintf(name, size, "%s/told-%d", folder, run);
}

static inline void tell(const char *folder, int run)
{
    char name[512];
    name_told(name, sizeof name, folder, run);
    FILE *file = fopen(name, "w");
    expect(file != NULL, "%s cannot be written", name);
    fclose(file);
}

// `what` it waits for has `size` bytes.
static inline void compute_until_told(const char *folder, int run, const char *what, size_t size)
{
    char name[512];
    name_told(name, sizeof name, folder, run);
    time_t start = time(NULL);
    while (access(name, F_OK) != 0)
        expect(time(NULL) - start < TOLD_SECONDS, "%s of %zu bytes waits for its peer's process", what, size);
}

#endif
