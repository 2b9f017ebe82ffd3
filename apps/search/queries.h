// The queries, all of them on every rank.
#ifndef FISHPLATE_APPS_QUERIES_H
#define FISHPLATE_APPS_QUERIES_H

#include "fasta.h"
#include "recipe.h"
#include "session.h"

struct queries {
    struct text text;
    struct proteins proteins;
};

// From a file that rank 0 reads, or made; then rank 0 writes them to the file, if there is a
// name. Ends the job with exit code 6 when the file is not as it should be.
void queries_read(struct queries *queries, const struct session *session, const char *name);
void queries_make(struct queries *queries, const struct session *session,
                  const struct recipe *recipe, const char *name);
void queries_destroy(struct queries *queries);

#endif
