// Alignments with gaps, extended from a pair of residues in both directions until the score is
// too far below the best: the X-drop extension of Zhang, Berman and Miller, "Alignments without
// low-scoring regions" (1998). A gap costs 11, and 1 for each of its residues.
#ifndef FISHPLATE_APPS_GAPPED_H
#define FISHPLATE_APPS_GAPPED_H

#include "residues.h"

#include <stddef.h>

enum { GAP_OPEN = 11, GAP_EXTEND = 1 };

// Columns of an alignment, and what of it is counted.
struct alignment {
    int query_start, query_end, subject_start, subject_end; // the ends are beyond
    int score;
    int columns, identities, gaps, gap_columns; // with gaps; the gaps, and columns in them
};

// Room that is kept from alignment to alignment.
struct gapped_room {
    struct gapped_cell *cells; // of a row
    size_t cell_capacity;
    unsigned char *trace; // of all rows
    size_t trace_capacity;
    struct gapped_row *rows;
    size_t row_capacity;
};

struct gapped_pair {
    const residue *query, *subject;
    int query_length, subject_length;
};

// The ends and the score of the best alignment through a pair of residues; nothing is counted. The
// drop is at least 12.
struct alignment gapped_score(const struct gapped_pair *pair, int query, int subject, int drop,
                              struct gapped_room *room);

// The same, traced back and counted.
struct alignment gapped_trace(const struct gapped_pair *pair, int query, int subject, int drop,
                              struct gapped_room *room);

void gapped_destroy(struct gapped_room *room);

#endif
