// The search for one query, protein by protein: seeds, extension without gaps, extension with
// gaps, statistics.
#ifndef FISHPLATE_APPS_PAIRWISE_H
#define FISHPLATE_APPS_PAIRWISE_H

#include "gapped.h"
#include "ungapped.h"

#include <stdint.h>

// What is searched, for the statistics.
struct totals {
    int64_t residues, proteins;
};

// Alignments that are expected more often by chance are not told.
#define PAIRWISE_EVALUE 10.0

struct pairwise {
    struct words words;
    struct seeding seeding;
    double search_space;
    int cutoff; // least score that is told
    struct diagonals diagonals;
    struct ungapped_list seeds;
    struct gapped_room room;
    struct alignment *found; // of the last protein, best first
    size_t count, capacity;
};

// The query must stay where it is. A `struct pairwise` is large.
void pairwise_create(struct pairwise *pairwise, const residue *query, int length,
                     struct totals totals);
void pairwise_destroy(struct pairwise *pairwise);

// Fills `found`.
void pairwise_search(struct pairwise *pairwise, const residue *subject, int length);

#endif
