#include "mg_level.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

struct rank_grid rank_grid(int rank, int ranks)
{
    struct rank_grid grid = {{1, 1, 1}, {0}};
    for (int d = Z; ranks > 1; ranks /= 2, d = (d + Z) % DIMENSIONS)
        grid.extents[d] *= 2;
    for (int d = X; d < DIMENSIONS; d++) {
        grid.own[d] = rank % grid.extents[d];
        rank /= grid.extents[d];
    }
    return grid;
}

// The rank `steps` further along a dimension.
static int rank_beside(const struct rank_grid *grid, int dimension, int steps)
{
    int place[DIMENSIONS];
    memcpy(place, grid->own, sizeof place);
    int extent = grid->extents[dimension];
    place[dimension] = (place[dimension] + steps + extent) % extent;
    return place[X] + grid->extents[X] * (place[Y] + grid->extents[Y] * place[Z]);
}

// Ranks for each owner, where a dimension has so many points.
static int spacing_of(int ranks, int points)
{
    return ranks > points ? ranks / points : 1;
}

static struct axis axis_of(const struct rank_grid *grid, int d, int points, bool finest)
{
    int ranks = grid->extents[d], place = grid->own[d];
    int spacing = spacing_of(ranks, points);
    int finer_spacing = finest ? spacing : spacing_of(ranks, 2 * points);
    struct axis axis = {.owners = ranks / spacing,
                        // A coarse point is an odd one of the finer level, counted from 0: so the
                        // owner is the last of the ranks that share a point.
                        .owner = place % spacing == spacing - 1,
                        .before = rank_beside(grid, d, -spacing),
                        .after = rank_beside(grid, d, spacing),
                        .thinned = spacing != finer_spacing,
                        .finer_before = rank_beside(grid, d, -finer_spacing),
                        .finer_after = rank_beside(grid, d, finer_spacing)};
    axis.points = points / axis.owners;
    axis.first = place / spacing * axis.points;
    axis.shift = axis.thinned && axis.owner ? 1 : 0;
    return axis;
}

// Whether this rank owns points of a level of so many points in each dimension.
static bool owns(const struct rank_grid *grid, int points)
{
    bool owner = true;
    for (int d = X; d < DIMENSIONS; d++) {
        int spacing = spacing_of(grid->extents[d], points);
        owner = owner && grid->own[d] % spacing == spacing - 1;
    }
    return owner;
}

void level_create(struct level *level, const struct rank_grid *grid, int log2_points, bool finest)
{
    int points = 1 << log2_points;
    *level = (struct level){.owner = owns(grid, points),
                            .finer_owner = owns(grid, finest ? points : 2 * points)};
    for (int d = X; d < DIMENSIONS; d++)
        level->axes[d] = axis_of(grid, d, points, finest);
    level->row = (size_t)level->axes[X].points + 2;
    level->plane = level->row * ((size_t)level->axes[Y].points + 2);
    if (!level->finer_owner)
        return;
    // Zeros: pages are touched, and what a borrower does not get is a number.
    level->solution = memset(allocate(level_bytes(level)), 0, level_bytes(level));
    level->residual = memset(allocate(level_bytes(level)), 0, level_bytes(level));
}

void level_destroy(struct level *level)
{
    free(level->solution);
    free(level->residual);
}

size_t level_bytes(const struct level *level)
{
    return level->plane * ((size_t)level->axes[Z].points + 2) * sizeof(double);
}
