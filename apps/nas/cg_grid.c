#include "cg_grid.h"

#include "nas.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_ROW_SUM = 1, TAG_TRANSPOSE, TAG_NUMBERS };

static struct range part_of(int n, int index, int parts)
{
    int first = (int)((int64_t)n * index / parts);
    return (struct range){first, (int)((int64_t)n * (index + 1) / parts) - first};
}

// Where the grid has twice as many columns as rows, a range of rows is two of columns, and the
// ranks of even and odd columns each have one to sum. Then (row, column) and its opposite are
// each other's.
static void find_opposite(struct cg_grid *grid, int n, int rows, int row)
{
    int ratio = grid->columns / rows;
    grid->half = grid->column % ratio;
    for (int i = 0; i < ratio; i++)
        grid->halves[i] = part_of(n, ratio * row + i, grid->columns);
    grid->opposite = grid->column / ratio * grid->columns + ratio * row + grid->half;
}

void cg_grid_create(struct cg_grid *grid, int n, int rank, int ranks)
{
    int rows = 1 << nas_log2(ranks) / 2;
    grid->rank = rank;
    grid->columns = ranks / rows;
    grid->column = rank % grid->columns;
    int row = rank / grid->columns;
    grid->matrix_rows = part_of(n, row, rows);
    grid->matrix_columns = part_of(n, grid->column, grid->columns);
    find_opposite(grid, n, rows, row);
    grid->incoming = allocate((size_t)grid->matrix_rows.count * sizeof(double));
}

void cg_grid_destroy(struct cg_grid *grid)
{
    free(grid->incoming);
    grid->incoming = NULL;
}

static void exchange(const struct cg_grid *grid, const double *sent, int send_count,
                     int receive_count, int column, int tag)
{
    int with = grid->rank - grid->column + column;
    comm_sendrecv(sent, send_count, MPI_DOUBLE, with, tag, grid->incoming, receive_count,
                  MPI_DOUBLE, with, tag, MPI_COMM_WORLD);
}

static void add(double *sums, const double *incoming, int count)
{
    for (int i = 0; i < count; i++)
        sums[i] += incoming[i];
}

// By recursive exchange. Each of the first two ranks keeps one half when there are halves, and
// all others that it then meets sum the same half.
static void sum_rows(const struct cg_grid *grid, double *by_rows)
{
    const struct range *own = &grid->halves[grid->half];
    double *sums = by_rows + (own->first - grid->matrix_rows.first);
    int bit = 1;
    if (own->count < grid->matrix_rows.count) {
        const struct range *other = &grid->halves[1 - grid->half];
        exchange(grid, by_rows + (other->first - grid->matrix_rows.first), other->count,
                 own->count, grid->column ^ 1, TAG_ROW_SUM);
        add(sums, grid->incoming, own->count);
        bit = 2;
    }
    for (; bit < grid->columns; bit *= 2) {
        exchange(grid, sums, own->count, own->count, grid->column ^ bit, TAG_ROW_SUM);
        add(sums, grid->incoming, own->count);
    }
}

void cg_grid_gather(const struct cg_grid *grid, double *by_rows, double *by_columns)
{
    sum_rows(grid, by_rows);
    const struct range *own = &grid->halves[grid->half];
    const double *sums = by_rows + (own->first - grid->matrix_rows.first);
    int count = grid->matrix_columns.count;
    if (grid->opposite == grid->rank)
        memcpy(by_columns, sums, (size_t)count * sizeof(double));
    else
        comm_sendrecv(sums, own->count, MPI_DOUBLE, grid->opposite, TAG_TRANSPOSE, by_columns,
                      count, MPI_DOUBLE, grid->opposite, TAG_TRANSPOSE, MPI_COMM_WORLD);
}

void cg_grid_sum(const struct cg_grid *grid, double *numbers, int count)
{
    for (int bit = 1; bit < grid->columns; bit *= 2) {
        exchange(grid, numbers, count, count, grid->column ^ bit, TAG_NUMBERS);
        add(numbers, grid->incoming, count);
    }
}
