// What the runs of a program took, over all ranks, and how rank 0 tells it.
#ifndef FISHPLATE_APPS_OUTCOME_H
#define FISHPLATE_APPS_OUTCOME_H

#include "app.h"
#include "record.h"

struct outcome {
    uint64_t repeats; // so far
    double *seconds; // of each repeat: until the last rank was done
    double total_seconds; // of all repeats
    struct spread over_ranks; // run time, mean over the repeats
    struct spread comm_seconds; // inside MPI calls, mean over the repeats
    struct comm_totals sums; // of all ranks, of one repeat
    bool verified;
};

struct outcome outcome_create(uint64_t repeats);
void outcome_destroy(struct outcome *outcome);

// Adds a repeat; all ranks call it with what is theirs.
void outcome_add(struct outcome *outcome, double seconds, struct comm_totals totals);

// By rank 0. JSON has no header.
void outcome_header(const struct app *app, const char *description);
void outcome_report(const struct app *app, const struct app_kernel *kernel,
                    const struct outcome *outcome);

#endif
