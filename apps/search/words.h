// The words of a query and their neighbours: for each word of three residues, where in the query
// one stands that scores at least 11 with it.
#ifndef FISHPLATE_APPS_WORDS_H
#define FISHPLATE_APPS_WORDS_H

#include "residues.h"

enum { WORD_LENGTH = 3, WORD_THRESHOLD = 11, WORDS = RESIDUES * RESIDUES * RESIDUES };

struct words {
    int starts[WORDS + 1]; // of each word's positions
    int *positions;
};

// Aborts the job when there is no memory.
void words_create(struct words *words, const residue *query, int length);
void words_destroy(struct words *words);

static inline int word_at(const residue *at)
{
    return (at[0] * RESIDUES + at[1]) * RESIDUES + at[2];
}

#endif
