#include "lu_grid.h"

#include "buffer.h"
#include "comm.h"
#include "nas.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_BEFORE, TAG_AFTER, TAG_WAVE };
enum { SENT, RECEIVED };

void lu_rank_extents(int ranks, int extents[2])
{
    int log = nas_log2(ranks);
    extents[X] = 1 << (log + 1) / 2;
    extents[Y] = 1 << log / 2;
}

static struct lu_axis divide(int total, int parts, int place)
{
    int least = total / parts, more = total % parts;
    struct lu_axis axis = {.total = total, .before = MPI_PROC_NULL, .after = MPI_PROC_NULL};
    axis.points = least + (place < more);
    axis.first = place * least + (place < more ? place : more);
    axis.begin = place == 0 ? 1 : 0;
    axis.end = axis.points - (place == parts - 1 ? 1 : 0);
    return axis;
}

static void find_neighbours(struct lu_axis *axis, int rank, int step, int parts, int place)
{
    if (place > 0)
        axis->before = rank - step;
    if (place < parts - 1)
        axis->after = rank + step;
}

void lu_grid_create(struct lu_grid *grid, int total, int rank, int ranks)
{
    int extents[2];
    lu_rank_extents(ranks, extents);
    int places[2] = {rank % extents[X], rank / extents[X]};
    for (int a = X; a <= Y; a++) {
        grid->axes[a] = divide(total, extents[a], places[a]);
        find_neighbours(&grid->axes[a], rank, a == X ? 1 : extents[X], extents[a], places[a]);
    }
    grid->axes[Z] = divide(total, 1, 0);
    grid->cells = 1;
    grid->origin = 0;
    for (int a = X; a < AXES; a++) {
        grid->axes[a].stride = grid->cells;
        grid->origin += GHOSTS * grid->cells;
        grid->cells *= (size_t)(grid->axes[a].points + 2 * GHOSTS);
    }
    int x = grid->axes[X].points, y = grid->axes[Y].points;
    size_t face = (size_t)GHOSTS * (size_t)total * (size_t)(x > y ? x : y);
    for (int i = 0; i < 4; i++)
        grid->faces[i / 2][i % 2] = allocate(face * sizeof(struct cell));
}

void lu_grid_destroy(struct lu_grid *grid)
{
    for (int i = 0; i < 4; i++)
        free(grid->faces[i / 2][i % 2]);
}

struct cell *lu_grid_allocate(const struct lu_grid *grid)
{
    struct cell *cells = allocate(grid->cells * sizeof *cells);
    memset(cells, 0, grid->cells * sizeof *cells);
    return cells;
}

// Copies GHOSTS layers from `first` on along the axis, out into a face or back.
static void copy_layers(const struct lu_grid *grid, int axis, int first, struct cell *cells,
                        struct cell *face, bool out)
{
    const struct lu_axis *across = &grid->axes[axis == X ? Y : X];
    int count = 0;
    for (int z = 0; z < grid->axes[Z].points; z++)
        for (int layer = first; layer < first + GHOSTS; layer++) {
            struct cell *line = cells + lu_index(grid, 0, 0, z)
                                + (ptrdiff_t)grid->axes[axis].stride * layer;
            for (int i = 0; i < across->points; i++, count++)
                if (out)
                    face[count] = line[(size_t)i * across->stride];
                else
                    line[(size_t)i * across->stride] = face[count];
        }
}

static void exchange_axis(struct lu_grid *grid, struct cell *cells, int axis)
{
    const struct lu_axis *own = &grid->axes[axis];
    int neighbours[2] = {own->before, own->after};
    int inner[2] = {0, own->points - GHOSTS}, outer[2] = {-GHOSTS, own->points};
    int size = VARIABLES * GHOSTS * own->total * grid->axes[axis == X ? Y : X].points;
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++)
        comm_irecv(grid->faces[RECEIVED][side], size, MPI_DOUBLE, neighbours[side],
                   side == 0 ? TAG_AFTER : TAG_BEFORE, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; side++) {
        if (neighbours[side] != MPI_PROC_NULL)
            copy_layers(grid, axis, inner[side], cells, grid->faces[SENT][side], true);
        comm_isend(grid->faces[SENT][side], size, MPI_DOUBLE, neighbours[side],
                   side == 0 ? TAG_BEFORE : TAG_AFTER, MPI_COMM_WORLD, &requests[2 + side]);
    }
    comm_waitall(4, requests);
    for (int side = 0; side < 2; side++)
        if (neighbours[side] != MPI_PROC_NULL)
            copy_layers(grid, axis, outer[side], cells, grid->faces[RECEIVED][side], false);
}

void lu_grid_exchange(struct lu_grid *grid, struct cell *cells)
{
    exchange_axis(grid, cells, X);
    exchange_axis(grid, cells, Y);
}

// The points of an edge that are not on the boundary of the cube, five values each.
static int edge_size(const struct lu_axis *along)
{
    return VARIABLES * (along->end - along->begin);
}

// An edge across x is packed, one across y lies together.
void lu_wave_receive(struct lu_grid *grid, struct cell *cells, int z, bool forward)
{
    const struct lu_axis *x = &grid->axes[X], *y = &grid->axes[Y];
    int from = forward ? x->before : x->after;
    if (from != MPI_PROC_NULL) {
        struct cell *edge = grid->faces[RECEIVED][0];
        comm_recv(edge, edge_size(y), MPI_DOUBLE, from, TAG_WAVE, MPI_COMM_WORLD);
        for (int j = y->begin; j < y->end; j++)
            cells[lu_index(grid, forward ? -1 : x->points, j, z)] = edge[j - y->begin];
    }
    from = forward ? y->before : y->after;
    if (from != MPI_PROC_NULL)
        comm_recv(cells + lu_index(grid, x->begin, forward ? -1 : y->points, z), edge_size(x),
                  MPI_DOUBLE, from, TAG_WAVE, MPI_COMM_WORLD);
}

void lu_wave_send(struct lu_grid *grid, const struct cell *cells, int z, bool forward)
{
    const struct lu_axis *x = &grid->axes[X], *y = &grid->axes[Y];
    int to = forward ? x->after : x->before;
    if (to != MPI_PROC_NULL) {
        struct cell *edge = grid->faces[SENT][0];
        for (int j = y->begin; j < y->end; j++)
            edge[j - y->begin] = cells[lu_index(grid, forward ? x->points - 1 : 0, j, z)];
        comm_send(edge, edge_size(y), MPI_DOUBLE, to, TAG_WAVE, MPI_COMM_WORLD);
    }
    to = forward ? y->after : y->before;
    if (to != MPI_PROC_NULL)
        comm_send(cells + lu_index(grid, x->begin, forward ? y->points - 1 : 0, z), edge_size(x),
                  MPI_DOUBLE, to, TAG_WAVE, MPI_COMM_WORLD);
}
