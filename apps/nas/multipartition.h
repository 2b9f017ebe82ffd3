// Multi-partition of a cube of points (NAS-95-020): q^2 ranks, q^3 cells, q of them on each rank,
// one in each slab of every dimension. So all ranks work in each stage of a sweep, in whatever
// dimension it goes.
#ifndef FISHPLATE_APPS_MULTIPARTITION_H
#define FISHPLATE_APPS_MULTIPARTITION_H

#include "cfd.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { GHOSTS = 2, MAX_CELLS = 64 };

// Points are told by local indices; ghosts are at -2, -1, points and points + 1.
struct cell {
    int slab[AXES]; // place in the grid of cells
    int low[AXES]; // the first point, in the whole grid
    int points[AXES];
    int first[AXES], end[AXES]; // those that are not on the boundary of the grid: first <= i < end
    ptrdiff_t stride[AXES]; // from a point to the next
    ptrdiff_t size; // points and ghosts
};

struct multipartition {
    int points; // of the grid, in each dimension
    int side; // q; as many cells on each rank
    struct cell cells[MAX_CELLS];
    int in_slab[AXES][MAX_CELLS]; // index of the cell
    int before[AXES], after[AXES]; // ranks with the neighbours of all cells
    double *sent[2], *received[2]; // faces of one direction each; sweeps take `sent` by turns
};

// 0 unless the number of ranks is a square.
int multipartition_side(int ranks);
// How many ranks such a grid allows: cells have three points at least in each dimension.
int multipartition_most_ranks(int points);

// `border_values` is the most that a sweep sends of one line.
void multipartition_create(struct multipartition *parts, int points, int border_values, int rank,
                           int ranks);
void multipartition_destroy(struct multipartition *parts);

static inline ptrdiff_t cell_index(const struct cell *cell, int x, int y, int z)
{
    return x + GHOSTS + (y + GHOSTS) * cell->stride[1] + (z + GHOSTS) * cell->stride[2];
}

// Sets the ghosts that are points of other cells, but those on edges: VARIABLES values a point, an
// array for each cell.
void multipartition_exchange(struct multipartition *parts, double *const *values);

// What a sweep does in a cell. `border` has the values of each line of inner points, those of the
// lesser axis beside each other: in comes what the cell before left, zeros in the first; out goes
// what the next needs.
typedef void sweep_stage(void *context, int cell, int axis, double *border);

// From the first slab to the last, and from the last to the first.
void sweep_forward(struct multipartition *parts, int axis, int border_values, sweep_stage *stage,
                   void *context);
void sweep_backward(struct multipartition *parts, int axis, int border_values, sweep_stage *stage,
                    void *context);

#endif
