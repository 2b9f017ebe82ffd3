// Whether hits are right, by rank 0 alone.
#ifndef FISHPLATE_APPS_VERIFICATION_H
#define FISHPLATE_APPS_VERIFICATION_H

#include "worker.h"

struct verification {
    int pairs; // of a query and a protein that were looked at again
    int copies_found; // of the recipe; none without one
    bool same; // a pair searched alone, without fragments, has the same hits
    bool none_better; // than the best alignment of the pair, by trying all
    bool copies_best; // those of the recipe's copies score as much
};

// `recipe` is NULL when the files were given. Looks at so many pairs at most; at all copies.
struct verification verification_of(const struct hits *hits, const struct database *database,
                                    const struct queries *queries, const struct recipe *recipe);

#endif
