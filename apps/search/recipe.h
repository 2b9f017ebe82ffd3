// A database and queries made by formula: random proteins with the usual frequencies, and among
// them copies of the queries with mutations. Every rank can make each of them by itself.
#ifndef FISHPLATE_APPS_RECIPE_H
#define FISHPLATE_APPS_RECIPE_H

#include "text.h"

#include <stdbool.h>
#include <stdint.h>

struct recipe {
    uint64_t seed;
    uint64_t proteins;
    int queries;
};

// A query has so many copies: with few, more and many mutations.
enum { RECIPE_COPIES = 3 };

// Fewer than asked for where there is no room for copies.
int recipe_queries(const struct recipe *recipe);

// How many proteins are copies, and which: copy j is number `recipe_copy(j)`, of the query
// j / RECIPE_COPIES.
int recipe_copies(const struct recipe *recipe);
uint64_t recipe_copy(const struct recipe *recipe, int copy);

// The copy that a protein is, or -1.
int recipe_copy_at(const struct recipe *recipe, uint64_t number);

// Append it as FASTA.
void recipe_add_protein(const struct recipe *recipe, uint64_t number, struct text *text);
void recipe_add_query(const struct recipe *recipe, int number, struct text *text);

#endif
