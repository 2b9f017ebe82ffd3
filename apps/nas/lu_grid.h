// The points of LU: a cube divided by x and y, with whole columns along z; what neighbours tell
// each other.
#ifndef FISHPLATE_APPS_LU_GRID_H
#define FISHPLATE_APPS_LU_GRID_H

#include "lu_flow.h"

#include <stddef.h>

// The dissipation of fourth order looks two points far.
enum { GHOSTS = 2 };

struct lu_axis {
    int total; // points over all ranks
    int points, first; // of this rank; the first counted over all ranks
    int begin, end; // of its points that are not on the boundary of the cube
    int before, after; // neighbouring ranks, MPI_PROC_NULL where the cube ends
    size_t stride; // from a point to the next
};

// Arrays of cells have GHOSTS more on every side; own points count from 0.
struct lu_grid {
    struct lu_axis axes[AXES];
    size_t origin; // of point (0, 0, 0)
    size_t cells; // of an array
    struct cell *faces[2][2]; // for exchanges: sent, received; before, after
};

// Powers of two; as many along x as along y, or twice as many.
void lu_rank_extents(int ranks, int extents[2]);

void lu_grid_create(struct lu_grid *grid, int total, int rank, int ranks);
void lu_grid_destroy(struct lu_grid *grid);

// Of zeros.
struct cell *lu_grid_allocate(const struct lu_grid *grid);

static inline size_t lu_index(const struct lu_grid *grid, int x, int y, int z)
{
    return grid->origin + (size_t)x + (size_t)y * grid->axes[Y].stride
           + (size_t)z * grid->axes[Z].stride;
}

// Fills the ghosts across x and y with the neighbours' points.
void lu_grid_exchange(struct lu_grid *grid, struct cell *cells);

// The edge of plane z that a sweep needs before it, and hands on after it. A sweep forward comes
// from lower x and y, a sweep backward from higher.
void lu_wave_receive(struct lu_grid *grid, struct cell *cells, int z, bool forward);
void lu_wave_send(struct lu_grid *grid, const struct cell *cells, int z, bool forward);

#endif
