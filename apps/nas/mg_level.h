// A level of the multigrid: a periodic cube of points, and which of them a rank has.
#ifndef FISHPLATE_APPS_MG_LEVEL_H
#define FISHPLATE_APPS_MG_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

enum { X, Y, Z, DIMENSIONS };

// Ranks in a grid of powers of two.
struct rank_grid {
    int extents[DIMENSIONS];
    int own[DIMENSIONS]; // this rank's place
};

// What one dimension of a level looks like to a rank. A level may have fewer points than there are
// ranks; then every second, fourth, ... rank has one.
struct axis {
    int points; // of a rank that has some
    int first; // the first of this rank's, counted over all ranks
    bool owner; // whether it has some
    int owners; // ranks that have
    int before, after; // neighbours among them, as ranks of the job

    // Seen from the next finer level, where more ranks may be owners:
    bool thinned; // half as many own this level
    int shift; // point p is the finer level's 2 p - shift, counted by this rank from 1
    int finer_before, finer_after; // neighbours among the owners of the finer level
};

// Arrays have a layer of neighbours' points on each side, so that the own ones count from 1.
struct level {
    struct axis axes[DIMENSIONS];
    bool owner; // in all dimensions
    bool finer_owner; // of the next finer level; the same on the finest
    size_t row, plane; // doubles from y to y + 1, from z to z + 1
    double *solution, *residual; // NULL unless finer_owner
};

// Halves the cube along z, y, x, z, ... as long as there are ranks: faces across z are contiguous.
struct rank_grid rank_grid(int rank, int ranks);

// 2^log2_points points in each dimension.
void level_create(struct level *level, const struct rank_grid *grid, int log2_points, bool finest);
void level_destroy(struct level *level);

size_t level_bytes(const struct level *level); // of one array

// Where a point is in an array of the level.
static inline size_t level_index(const struct level *level, int x, int y, int z)
{
    return (size_t)z * level->plane + (size_t)y * level->row + (size_t)x;
}

#endif
