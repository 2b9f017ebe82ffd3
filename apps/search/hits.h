// What a search has found, and how it is told.
#ifndef FISHPLATE_APPS_HITS_H
#define FISHPLATE_APPS_HITS_H

#include "gapped.h"
#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hit {
    int64_t protein; // its number in the database
    int64_t offset; // of its text in the file
    int64_t bytes; // of its text
    int32_t query;
    int32_t best; // score of this query with this protein
    int32_t name_length;
    size_t name; // place among the names
    double bits, evalue;
    struct alignment alignment;
};

struct hits {
    struct hit *items;
    size_t count, capacity;
    struct text names;
};

// Copies the name.
void hits_add(struct hits *hits, const struct hit *hit, const char *name);
void hits_destroy(struct hits *hits);

// As bytes for a message, and back again behind what is there.
void hits_pack(const struct hits *hits, struct text *message);
void hits_unpack(struct hits *hits, const char *message);

// By query; then proteins by their best score, and alignments by theirs.
void hits_sort(struct hits *hits);

// A line of twelve columns with tabulators between, as of blastp -outfmt 6.
void hits_print(const struct hits *hits, const struct hit *hit, const char *query, int query_length,
                FILE *file);

// Of all that is printed of them but the names, in order.
uint64_t hits_checksum(const struct hits *hits);

#endif
