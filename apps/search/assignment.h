// Which fragment a worker searches next, and for which query: all queries in one fragment one
// after the other, as long as others have not taken them.
#ifndef FISHPLATE_APPS_ASSIGNMENT_H
#define FISHPLATE_APPS_ASSIGNMENT_H

#include <stdbool.h>

struct unit {
    int fragment, query;
};

struct assignment {
    int fragments, queries, workers;
    int *next; // query of each fragment
    bool *taken; // by some worker
    int *held; // fragment of each worker, -1 before the first
};

struct assignment assignment_create(int fragments, int queries, int workers);
void assignment_destroy(struct assignment *assignment);

// False when all has been given out.
bool assignment_next(struct assignment *assignment, int worker, struct unit *unit);

#endif
