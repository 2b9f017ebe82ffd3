#include "multipartition.h"

#include "buffer.h" // allocate
#include "comm.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_FACES_UP, TAG_FACES_DOWN, TAG_SWEEP };

int multipartition_side(int ranks)
{
    int side = 1;
    while (side * side < ranks)
        side++;
    return side * side == ranks ? side : 0;
}

int multipartition_most_ranks(int points)
{
    int side = points / 3 < MAX_CELLS ? points / 3 : MAX_CELLS;
    return side * side;
}

static int wrap(int i, int side)
{
    return (i % side + side) % side;
}

// The first slabs have a point more where the division leaves a rest.
static void set_extent(struct cell *cell, int axis, int points, int side)
{
    int slab = cell->slab[axis], rest = points % side;
    cell->points[axis] = points / side + (slab < rest);
    cell->low[axis] = slab * (points / side) + (slab < rest ? slab : rest);
    cell->first[axis] = slab == 0 ? 1 : 0;
    cell->end[axis] = cell->points[axis] - (slab == side - 1 ? 1 : 0);
    cell->stride[axis] =
        axis == 0 ? 1 : cell->stride[axis - 1] * (cell->points[axis - 1] + 2 * GHOSTS);
    cell->size = cell->stride[axis] * (cell->points[axis] + 2 * GHOSTS);
}

// Rank (a, b) has the cells (a + c, b + c, c): going up by a cell leads to the same rank from all
// of them.
static void set_cells(struct multipartition *parts, int a, int b)
{
    int q = parts->side;
    for (int c = 0; c < q; c++) {
        struct cell *cell = &parts->cells[c];
        int slab[AXES] = {wrap(a + c, q), wrap(b + c, q), c};
        for (int axis = 0; axis < AXES; axis++) {
            cell->slab[axis] = slab[axis];
            set_extent(cell, axis, parts->points, q);
            parts->in_slab[axis][slab[axis]] = c;
        }
    }
}

static int rank_of(int a, int b, int side)
{
    return wrap(a, side) + wrap(b, side) * side;
}

void multipartition_create(struct multipartition *parts, int points, int border_values, int rank,
                           int ranks)
{
    int q = multipartition_side(ranks), a = rank % q, b = rank / q;
    parts->points = points;
    parts->side = q;
    set_cells(parts, a, b);
    static const int steps[AXES][2] = {{1, 0}, {0, 1}, {-1, -1}};
    for (int axis = 0; axis < AXES; axis++) {
        parts->after[axis] = rank_of(a + steps[axis][0], b + steps[axis][1], q);
        parts->before[axis] = rank_of(a - steps[axis][0], b - steps[axis][1], q);
    }
    size_t side = (size_t)(points / q) + 1;
    size_t faces = (size_t)(q - 1) * GHOSTS * VARIABLES;
    size_t values = faces > (size_t)border_values ? faces : (size_t)border_values;
    for (int i = 0; i < 2; i++) {
        parts->sent[i] = allocate(side * side * values * sizeof(double));
        parts->received[i] = allocate(side * side * values * sizeof(double));
    }
}

void multipartition_destroy(struct multipartition *parts)
{
    for (int i = 0; i < 2; i++) {
        free(parts->sent[i]);
        free(parts->received[i]);
    }
}

// Two layers of a cell, from point `layer` of the axis on: out of the cell or into it. Returns how
// many values.
static size_t copy_layers(const struct cell *cell, int axis, int layer, double *values,
                          double *packed, bool into_cell)
{
    int low[AXES] = {0, 0, 0}, end[AXES] = {cell->points[0], cell->points[1], cell->points[2]};
    low[axis] = layer;
    end[axis] = layer + GHOSTS;
    size_t run = (size_t)(end[0] - low[0]) * VARIABLES, done = 0;
    for (int z = low[2]; z < end[2]; z++)
        for (int y = low[1]; y < end[1]; y++) {
            double *in_cell = values + cell_index(cell, low[0], y, z) * VARIABLES;
            if (into_cell)
                memcpy(in_cell, packed + done, run * sizeof(double));
            else
                memcpy(packed + done, in_cell, run * sizeof(double));
            done += run;
        }
    return done;
}

// What goes up leaves the slabs [0, q - 1) and arrives in [1, q); what goes down, the reverse.
// Returns how many values.
static size_t copy_faces(struct multipartition *parts, int axis, bool up, double *const *values,
                         double *packed, bool arriving)
{
    size_t done = 0;
    int from = up == arriving ? 1 : 0;
    for (int s = from; s < from + parts->side - 1; s++) {
        int c = parts->in_slab[axis][s];
        const struct cell *cell = &parts->cells[c];
        int high = cell->points[axis];
        int layer = arriving ? (up ? -GHOSTS : high) : (up ? high - GHOSTS : 0);
        done += copy_layers(cell, axis, layer, values[c], packed + done, arriving);
    }
    return done;
}

static size_t face_values(const struct multipartition *parts, int axis, bool up)
{
    size_t values = 0;
    for (int s = up ? 1 : 0; s < parts->side - 1 + (up ? 1 : 0); s++) {
        const struct cell *cell = &parts->cells[parts->in_slab[axis][s]];
        values += (size_t)cell->points[(axis + 1) % AXES] * (size_t)cell->points[(axis + 2) % AXES];
    }
    return values * GHOSTS * VARIABLES;
}

void multipartition_exchange(struct multipartition *parts, double *const *values)
{
    if (parts->side == 1)
        return;
    for (int axis = 0; axis < AXES; axis++) {
        MPI_Request requests[4];
        int above = parts->after[axis], below = parts->before[axis];
        comm_irecv(parts->received[0], (int)face_values(parts, axis, true), MPI_DOUBLE, below,
                   TAG_FACES_UP, MPI_COMM_WORLD, &requests[0]);
        comm_irecv(parts->received[1], (int)face_values(parts, axis, false), MPI_DOUBLE, above,
                   TAG_FACES_DOWN, MPI_COMM_WORLD, &requests[1]);
        size_t up = copy_faces(parts, axis, true, values, parts->sent[0], false);
        comm_isend(parts->sent[0], (int)up, MPI_DOUBLE, above, TAG_FACES_UP, MPI_COMM_WORLD,
                   &requests[2]);
        size_t down = copy_faces(parts, axis, false, values, parts->sent[1], false);
        comm_isend(parts->sent[1], (int)down, MPI_DOUBLE, below, TAG_FACES_DOWN, MPI_COMM_WORLD,
                   &requests[3]);
        comm_waitall(4, requests);
        copy_faces(parts, axis, true, values, parts->received[0], true);
        copy_faces(parts, axis, false, values, parts->received[1], true);
    }
}

static int line_count(const struct cell *cell, int axis)
{
    int a = (axis + 1) % AXES, b = (axis + 2) % AXES;
    return (cell->end[a] - cell->first[a]) * (cell->end[b] - cell->first[b]);
}

// In each stage a rank has one cell; the border of the next leaves while it works on.
static void sweep(struct multipartition *parts, int axis, bool up, int border_values,
                  sweep_stage *stage, void *context)
{
    int from = up ? parts->before[axis] : parts->after[axis];
    int to = up ? parts->after[axis] : parts->before[axis];
    MPI_Request sends[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < parts->side; i++) {
        int c = parts->in_slab[axis][up ? i : parts->side - 1 - i];
        int count = line_count(&parts->cells[c], axis) * border_values;
        double *border = parts->sent[i % 2];
        comm_wait(&sends[i % 2]);
        if (i == 0)
            memset(border, 0, (size_t)count * sizeof(double));
        else
            comm_recv(border, count, MPI_DOUBLE, from, TAG_SWEEP, MPI_COMM_WORLD);
        stage(context, c, axis, border);
        if (i < parts->side - 1)
            comm_isend(border, count, MPI_DOUBLE, to, TAG_SWEEP, MPI_COMM_WORLD, &sends[i % 2]);
    }
    comm_waitall(2, sends);
}

void sweep_forward(struct multipartition *parts, int axis, int border_values, sweep_stage *stage,
                   void *context)
{
    sweep(parts, axis, true, border_values, stage, context);
}

void sweep_backward(struct multipartition *parts, int axis, int border_values, sweep_stage *stage,
                    void *context)
{
    sweep(parts, axis, false, border_values, stage, context);
}
