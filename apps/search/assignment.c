#include "assignment.h"

#include "buffer.h" // allocate

#include <stdlib.h>

struct assignment assignment_create(int fragments, int queries, int workers)
{
    struct assignment assignment = {.fragments = fragments, .queries = queries, .workers = workers};
    assignment.next = allocate((size_t)fragments * sizeof(int));
    assignment.taken = allocate((size_t)fragments * sizeof(bool));
    assignment.held = allocate((size_t)workers * sizeof(int));
    for (int i = 0; i < fragments; i++) {
        assignment.next[i] = 0;
        assignment.taken[i] = false;
    }
    for (int i = 0; i < workers; i++)
        assignment.held[i] = -1;
    return assignment;
}

void assignment_destroy(struct assignment *assignment)
{
    free(assignment->next);
    free(assignment->taken);
    free(assignment->held);
}

// One that nobody has read, or the one with the most left to do; -1: there is none.
static int choose(const struct assignment *assignment)
{
    int chosen = -1;
    for (int i = 0; i < assignment->fragments; i++) {
        if (!assignment->taken[i])
            return i;
        if (assignment->next[i] < assignment->queries
            && (chosen < 0 || assignment->next[i] < assignment->next[chosen]))
            chosen = i;
    }
    return chosen;
}

bool assignment_next(struct assignment *assignment, int worker, struct unit *unit)
{
    int held = assignment->held[worker];
    if (held < 0 || assignment->next[held] == assignment->queries) {
        held = choose(assignment);
        if (held < 0)
            return false;
        assignment->held[worker] = held;
        assignment->taken[held] = true;
    }
    *unit = (struct unit){held, assignment->next[held]++};
    return true;
}
