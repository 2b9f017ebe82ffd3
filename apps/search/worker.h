// Who searches: reads a fragment and looks in it for a query.
#ifndef FISHPLATE_APPS_WORKER_H
#define FISHPLATE_APPS_WORKER_H

#include "assignment.h"
#include "database.h"
#include "hits.h"
#include "queries.h"

struct worker {
    const struct database *database;
    const struct queries *queries;
    int fragment; // the one that is in memory, or -1
    char *text;
    struct proteins proteins;
};

struct worker worker_create(const struct database *database, const struct queries *queries);
void worker_destroy(struct worker *worker);

// Adds what is found. Aborts the job when the fragment cannot be read.
void worker_search(struct worker *worker, struct unit unit, struct hits *hits);

// What is found in one protein, whose text is `hit->bytes` long at `hit->offset`; the hits have
// that and its number.
void worker_add_hits(struct pairwise *pairwise, const struct protein *protein,
                     const struct hit *place, struct hits *hits);

#endif
