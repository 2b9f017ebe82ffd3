#include "cg_matrix.h"

#include "buffer.h"
#include "lcg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Weight of the last outer product against the first, and what is added to the diagonal.
static const double condition = 0.1;

struct element {
    int index;
    double value;
};

// The sparse vectors whose outer products make the matrix, each of the same capacity.
struct vectors {
    int n, capacity;
    int *counts;
    struct element *elements; // n * capacity
};

static struct element *vector(const struct vectors *vectors, int i)
{
    return vectors->elements + (size_t)i * (size_t)vectors->capacity;
}

static struct element *find(struct element *elements, int count, int index)
{
    for (int k = 0; k < count; k++)
        if (elements[k].index == index)
            return &elements[k];
    return NULL;
}

// Random elements at random places, and 1/2 at the place of its own number. Places are drawn
// from the next power of two, so some are none.
static void draw_vector(struct vectors *vectors, int i, int power, uint64_t *x)
{
    struct element *elements = vector(vectors, i);
    int count = 0;
    while (count < vectors->capacity - 1) {
        double value = lcg_next(x, LCG_A);
        int index = (int)(power * lcg_next(x, LCG_A));
        if (index < vectors->n && find(elements, count, index) == NULL)
            elements[count++] = (struct element){index, value};
    }
    struct element *own = find(elements, count, i);
    if (own == NULL)
        own = &elements[count++];
    *own = (struct element){i, 0.5};
    vectors->counts[i] = count;
}

// Rejected places make the sequence one that every rank has to go through from its begin.
static struct vectors draw_vectors(int n, int nonzeros)
{
    struct vectors vectors = {.n = n, .capacity = nonzeros + 1};
    vectors.counts = allocate((size_t)n * sizeof(int));
    vectors.elements = allocate((size_t)n * (size_t)vectors.capacity * sizeof(struct element));
    int power = 1;
    while (power < n)
        power *= 2;
    uint64_t x = LCG_SEED;
    // The sample codes draw one number before.
    lcg_next(&x, LCG_A);
    for (int i = 0; i < n; i++)
        draw_vector(&vectors, i, power, &x);
    return vectors;
}

// Which vectors have an element in a row: the outer products that meet it.
struct meeting {
    int vector;
    double value; // the element, weighed
};

struct meetings {
    int *starts;
    struct meeting *list;
};

static bool contains(struct range range, int index)
{
    return index >= range.first && index < range.first + range.count;
}

static struct meetings find_meetings(const struct vectors *vectors, struct range rows)
{
    struct meetings meetings;
    // One more, since a place moves to the next row's start while the list is filled.
    meetings.starts = allocate(((size_t)rows.count + 2) * sizeof(int));
    memset(meetings.starts, 0, ((size_t)rows.count + 2) * sizeof(int));
    for (int i = 0; i < vectors->n; i++)
        for (int k = 0; k < vectors->counts[i]; k++)
            if (contains(rows, vector(vectors, i)[k].index))
                meetings.starts[vector(vectors, i)[k].index - rows.first + 2]++;
    for (int row = 0; row < rows.count; row++)
        meetings.starts[row + 2] += meetings.starts[row + 1];
    meetings.list = allocate((size_t)meetings.starts[rows.count + 1] * sizeof(struct meeting));
    double weight = 1.0, ratio = pow(condition, 1.0 / vectors->n);
    for (int i = 0; i < vectors->n; i++, weight *= ratio)
        for (int k = 0; k < vectors->counts[i]; k++) {
            const struct element *element = &vector(vectors, i)[k];
            if (contains(rows, element->index))
                meetings.list[meetings.starts[element->index - rows.first + 1]++] =
                    (struct meeting){i, weight * element->value};
        }
    return meetings;
}

// A row as it is summed: a number for each column, and the columns that have one.
struct row {
    struct range columns;
    double *sums;
    int *seen; // the last row that met a column, from 1; 0: none
    int *list;
    int count;
};

static void add_to_row(struct row *row, int number, int column, double value)
{
    if (row->seen[column] != number) {
        row->seen[column] = number;
        row->sums[column] = 0.0;
        row->list[row->count++] = column;
    }
    row->sums[column] += value;
}

static int compare(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

static void sum_row(struct row *row, int number, const struct vectors *vectors,
                    const struct meeting *from, const struct meeting *to)
{
    row->count = 0;
    for (const struct meeting *meeting = from; meeting < to; meeting++) {
        const struct element *elements = vector(vectors, meeting->vector);
        for (int k = 0; k < vectors->counts[meeting->vector]; k++)
            if (contains(row->columns, elements[k].index))
                add_to_row(row, number, elements[k].index - row->columns.first,
                           meeting->value * elements[k].value);
    }
    // A product goes through the vector from end to end, which caches like.
    qsort(row->list, (size_t)row->count, sizeof(int), compare);
}

static struct row make_row(struct range columns)
{
    size_t count = (size_t)columns.count;
    struct row row = {.columns = columns};
    row.sums = allocate(count * sizeof(double));
    row.seen = allocate(count * sizeof(int));
    row.list = allocate(count * sizeof(int));
    memset(row.seen, 0, count * sizeof(int));
    return row;
}

static void append_row(struct cg_matrix *matrix, int index, const struct row *row)
{
    int at = matrix->starts[index];
    for (int k = 0; k < row->count; k++) {
        matrix->columns[at] = row->list[k];
        matrix->values[at++] = row->sums[row->list[k]];
    }
    matrix->starts[index + 1] = at;
}

// More than there are in the end, since outer products overlap.
static size_t most_nonzeros(const struct vectors *vectors, struct range rows, struct range columns)
{
    size_t most = 0;
    for (int i = 0; i < vectors->n; i++) {
        size_t in_rows = 0, in_columns = 0;
        for (int k = 0; k < vectors->counts[i]; k++) {
            in_rows += contains(rows, vector(vectors, i)[k].index);
            in_columns += contains(columns, vector(vectors, i)[k].index);
        }
        most += in_rows * in_columns;
    }
    return most;
}

void cg_matrix_create(struct cg_matrix *matrix, int n, int nonzeros, double shift,
                      struct range rows, struct range columns)
{
    struct vectors vectors = draw_vectors(n, nonzeros);
    struct meetings meetings = find_meetings(&vectors, rows);
    struct row row = make_row(columns);
    size_t most = most_nonzeros(&vectors, rows, columns);
    matrix->rows = rows.count;
    matrix->starts = allocate(((size_t)rows.count + 1) * sizeof(int));
    matrix->columns = allocate(most * sizeof(int));
    matrix->values = allocate(most * sizeof(double));
    matrix->starts[0] = 0;
    for (int i = 0; i < rows.count; i++) {
        sum_row(&row, i + 1, &vectors, meetings.list + meetings.starts[i],
                meetings.list + meetings.starts[i + 1]);
        // Every vector has an element of its own number, so the diagonal is there.
        if (contains(columns, rows.first + i))
            row.sums[rows.first + i - columns.first] += condition - shift;
        append_row(matrix, i, &row);
    }
    free(vectors.counts);
    free(vectors.elements);
    free(meetings.starts);
    free(meetings.list);
    free(row.sums);
    free(row.seen);
    free(row.list);
}

void cg_matrix_destroy(struct cg_matrix *matrix)
{
    free(matrix->starts);
    free(matrix->columns);
    free(matrix->values);
}

uint64_t cg_matrix_memory(int n, int nonzeros, int ranks)
{
    uint64_t elements = (uint64_t)n * (uint64_t)(nonzeros + 1);
    uint64_t block = elements * (uint64_t)(nonzeros + 1) / (uint64_t)ranks;
    return block * (sizeof(int) + sizeof(double))
        + elements * (sizeof(struct element) + sizeof(struct meeting));
}

// Two sums at once: one addition need not wait for the one before.
void cg_matrix_multiply(const struct cg_matrix *matrix, const double *by_columns, double *by_rows)
{
    const int *columns = matrix->columns;
    const double *values = matrix->values;
    for (int i = 0; i < matrix->rows; i++) {
        double even = 0.0, odd = 0.0;
        int k = matrix->starts[i], end = matrix->starts[i + 1];
        for (; k + 1 < end; k += 2) {
            even += values[k] * by_columns[columns[k]];
            odd += values[k + 1] * by_columns[columns[k + 1]];
        }
        if (k < end)
            even += values[k] * by_columns[columns[k]];
        by_rows[i] = even + odd;
    }
}
