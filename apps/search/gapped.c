#include "gapped.h"

#include "buffer.h" // reallocate

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

enum { NOTHING = INT_MIN / 2, FIRST_GAP = GAP_OPEN + GAP_EXTEND };

// The best score that ends at a column of the row, and with a gap that goes on to the next row.
struct gapped_cell {
    int best, gap;
};

// How the best came about, and whether gaps that leave the cell are gaps that came to it.
enum {
    BY_PAIR,
    BY_QUERY_ALONE, // a query's residue beside a gap
    BY_SUBJECT_ALONE,
    HOW = 3,
    GOES_ON_QUERY = 4,
    GOES_ON_SUBJECT = 8,
};

// Where the trace of a row begins, and which column that is.
struct gapped_row {
    size_t offset;
    int first;
};

// The trace of a row while it is made; no bytes: not wanted.
struct row_trace {
    unsigned char *bytes;
    int first;
};

static void note(struct row_trace trace, int column, int how)
{
    if (trace.bytes != NULL)
        trace.bytes[column - trace.first] = (unsigned char)how;
}

// One direction of an extension. Residue i of the query is query[i * step].
struct direction {
    const residue *query, *subject;
    int query_length, subject_length;
    int step; // 1 or -1
    int drop;
    bool traced;
};

struct extension {
    int score, query, subject; // residues taken of each
};

static void reserve_trace(struct gapped_room *room, size_t used, size_t more)
{
    if (used + more <= room->trace_capacity)
        return;
    room->trace_capacity = 2 * (used + more);
    room->trace = reallocate(room->trace, room->trace_capacity);
}

static void reserve(struct gapped_room *room, const struct direction *direction)
{
    size_t cells = (size_t)direction->subject_length + 2;
    if (cells > room->cell_capacity) {
        room->cells = reallocate(room->cells, cells * sizeof *room->cells);
        room->cell_capacity = cells;
    }
    size_t rows = (size_t)direction->query_length + 1;
    if (direction->traced && rows > room->row_capacity) {
        room->rows = reallocate(room->rows, rows * sizeof *room->rows);
        room->row_capacity = rows;
    }
}

// Columns of the row that are still alive.
struct band {
    int first, end;
};

// Row 0: gaps alone.
static struct band first_row(const struct direction *direction, struct gapped_cell *cells)
{
    cells[0] = (struct gapped_cell){0, -FIRST_GAP};
    int column = 1;
    for (int score = -FIRST_GAP; column <= direction->subject_length && score >= -direction->drop;
         score -= GAP_EXTEND, column++)
        cells[column] = (struct gapped_cell){score, score - FIRST_GAP};
    return (struct band){0, column};
}

// Adds columns to the right, as far as a gap reaches, and one where nothing has been.
static void widen(const struct direction *direction, struct gapped_cell *cells, struct band *band,
                  int last, int row_gap, int best, struct row_trace trace)
{
    if (last < band->end - 1) {
        band->end = last + 1;
    } else {
        for (; row_gap >= best - direction->drop && band->end <= direction->subject_length;
             band->end++, row_gap -= GAP_EXTEND) {
            cells[band->end] = (struct gapped_cell){row_gap, row_gap - FIRST_GAP};
            note(trace, band->end, BY_SUBJECT_ALONE);
        }
    }
    if (band->end <= direction->subject_length)
        cells[band->end++] = (struct gapped_cell){NOTHING, NOTHING};
}

// One row further. The trace has room for the band and as many columns as it can widen by.
static void next_row(const struct direction *direction, struct gapped_cell *cells, int row,
                     struct band *band, struct extension *best, struct row_trace trace)
{
    const int8_t *scores = blosum62[direction->query[(row - 1) * direction->step]];
    int score = NOTHING, row_gap = NOTHING, last = band->first;
    for (int column = band->first; column < band->end; column++) {
        struct gapped_cell *cell = &cells[column];
        int gap = cell->gap, how = BY_PAIR;
        // Of the next column, before this row overwrites what it needs.
        int next = column < direction->subject_length
            ? cell->best + scores[direction->subject[column * direction->step]]
            : NOTHING;
        if (score < gap) {
            score = gap;
            how = BY_QUERY_ALONE;
        }
        if (score < row_gap) {
            score = row_gap;
            how = BY_SUBJECT_ALONE;
        }
        if (best->score - score > direction->drop) {
            if (column == band->first)
                band->first++;
            else
                cell->best = NOTHING;
        } else {
            last = column;
            if (score > best->score)
                *best = (struct extension){score, row, column};
            gap -= GAP_EXTEND;
            row_gap -= GAP_EXTEND;
            if (gap >= score - FIRST_GAP)
                how |= GOES_ON_QUERY;
            if (row_gap >= score - FIRST_GAP)
                how |= GOES_ON_SUBJECT;
            cell->gap = (how & GOES_ON_QUERY) != 0 ? gap : score - FIRST_GAP;
            row_gap = (how & GOES_ON_SUBJECT) != 0 ? row_gap : score - FIRST_GAP;
            cell->best = score;
        }
        note(trace, column, how);
        score = next;
    }
    if (band->first < band->end)
        widen(direction, cells, band, last, row_gap, best->score, trace);
}

static struct extension extend(const struct direction *direction, struct gapped_room *room)
{
    struct extension best = {0};
    reserve(room, direction);
    struct band band = first_row(direction, room->cells);
    size_t used = 0;
    for (int row = 1; row <= direction->query_length && band.first < band.end; row++) {
        struct row_trace trace = {NULL, band.first};
        if (direction->traced) {
            // A gap reaches no farther than the score may drop.
            size_t width = (size_t)(band.end - band.first) + (size_t)direction->drop + 2;
            reserve_trace(room, used, width);
            room->rows[row] = (struct gapped_row){used, band.first};
            trace.bytes = room->trace + used;
            used += width;
        }
        next_row(direction, room->cells, row, &band, &best, trace);
    }
    return best;
}

static int traced(const struct gapped_room *room, int row, int column)
{
    // Row 0 has gaps of the subject alone.
    if (row == 0)
        return BY_SUBJECT_ALONE | GOES_ON_SUBJECT;
    const struct gapped_row *start = &room->rows[row];
    return room->trace[start->offset + (size_t)(column - start->first)];
}

// Counts the columns of an extension, from its end.
static void count(const struct direction *direction, const struct gapped_room *room,
                  struct extension end, struct alignment *alignment)
{
    int row = end.query, column = end.subject, before = BY_PAIR;
    while (row > 0 || column > 0) {
        int cell = traced(room, row, column), how = cell & HOW;
        if (before == BY_QUERY_ALONE && (cell & GOES_ON_QUERY) != 0)
            how = BY_QUERY_ALONE;
        if (before == BY_SUBJECT_ALONE && (cell & GOES_ON_SUBJECT) != 0)
            how = BY_SUBJECT_ALONE;
        alignment->columns++;
        if (how == BY_PAIR) {
            row--;
            column--;
            alignment->identities += direction->query[row * direction->step]
                == direction->subject[column * direction->step];
        } else {
            alignment->gap_columns++;
            alignment->gaps += how != before;
            row -= how == BY_QUERY_ALONE;
            column -= how == BY_SUBJECT_ALONE;
        }
        before = how;
    }
}

static struct alignment align(const struct gapped_pair *pair, int query, int subject, int drop,
                              bool traced_back, struct gapped_room *room)
{
    // The pair itself belongs to what goes to the left.
    struct direction left = {pair->query + query, pair->subject + subject, query + 1, subject + 1,
                             -1, drop, traced_back};
    struct direction right = {left.query + 1,
                              left.subject + 1,
                              pair->query_length - query - 1,
                              pair->subject_length - subject - 1,
                              1,
                              drop,
                              traced_back};
    struct alignment alignment = {0};
    struct extension before = extend(&left, room);
    if (traced_back)
        count(&left, room, before, &alignment);
    struct extension after = {0};
    if (right.query_length > 0 && right.subject_length > 0) {
        after = extend(&right, room);
        if (traced_back)
            count(&right, room, after, &alignment);
    }
    alignment.score = before.score + after.score;
    alignment.query_start = query + 1 - before.query;
    alignment.subject_start = subject + 1 - before.subject;
    alignment.query_end = query + 1 + after.query;
    alignment.subject_end = subject + 1 + after.subject;
    return alignment;
}

struct alignment gapped_score(const struct gapped_pair *pair, int query, int subject, int drop,
                              struct gapped_room *room)
{
    return align(pair, query, subject, drop, false, room);
}

struct alignment gapped_trace(const struct gapped_pair *pair, int query, int subject, int drop,
                              struct gapped_room *room)
{
    return align(pair, query, subject, drop, true, room);
}

void gapped_destroy(struct gapped_room *room)
{
    free(room->cells);
    free(room->trace);
    free(room->rows);
    *room = (struct gapped_room){0};
}
