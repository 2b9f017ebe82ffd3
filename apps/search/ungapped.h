// Seeds: two words on the same diagonal, not far from each other, from which an alignment without
// gaps is extended (Altschul and others, "Gapped BLAST and PSI-BLAST", 1997).
#ifndef FISHPLATE_APPS_UNGAPPED_H
#define FISHPLATE_APPS_UNGAPPED_H

#include "words.h"

#include <stddef.h>

// Two words are at most so far apart.
enum { UNGAPPED_WINDOW = 40 };

struct ungapped {
    int query, subject; // where it begins
    int length, score;
};

// A list that grows; of one query with one subject.
struct ungapped_list {
    struct ungapped *items;
    size_t count, capacity;
};

struct seeding {
    const struct words *words;
    const residue *query;
    int query_length;
    int drop; // an extension ends when its score is so much below the best
    int cutoff; // least score that is kept
};

// Room for diagonals, kept from subject to subject.
struct diagonals {
    struct diagonal *items;
    size_t capacity;
};

// Finds all that score enough, best first.
void ungapped_find(const struct seeding *seeding, const residue *subject, int subject_length,
                   struct diagonals *diagonals, struct ungapped_list *found);

void ungapped_destroy(struct diagonals *diagonals, struct ungapped_list *found);

#endif
