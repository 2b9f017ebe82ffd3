#include "lu_residual.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void lu_residual_create(struct lu_residual *work, const struct lu_grid *grid)
{
    size_t x = (size_t)grid->axes[X].points + 2, y = (size_t)grid->axes[Y].points + 2;
    size_t z = (size_t)grid->axes[Z].points + 2;
    size_t plane = x * (y > z ? y : z);
    work->convected = allocate(plane * sizeof(struct cell));
    work->diffusing = allocate(plane * sizeof(struct cell));
    work->forcing = lu_grid_allocate(grid);
}

void lu_residual_destroy(struct lu_residual *work)
{
    free(work->convected);
    free(work->diffusing);
    free(work->forcing);
}

// A plane of points along x and another axis, the first of them and how the plane's work is stored.
struct plane {
    const struct lu_axis *x, *slow;
    size_t first; // point (0, 0) in the arrays of the grid
    size_t row; // cells of a row in the work, which begins with point (-1, -1)
};

static inline size_t work_index(const struct plane *plane, int i, int j)
{
    return (size_t)(j + 1) * plane->row + (size_t)(i + 1);
}

static inline size_t cell_index(const struct plane *plane, int i, int j)
{
    // Back to ghosts: the difference is less than `first`.
    return plane->first + (size_t)i + (size_t)j * plane->slow->stride;
}

// At the points inside the cube and those beside them along the axis.
static inline void set_fluxes(struct lu_residual *work, const struct plane *plane,
                              const struct cell *u, int axis)
{
    int more_x = axis == X, more_slow = axis != X;
    for (int j = plane->slow->begin - more_slow; j < plane->slow->end + more_slow; j++)
        for (int i = plane->x->begin - more_x; i < plane->x->end + more_x; i++) {
            const struct cell *cell = u + cell_index(plane, i, j);
            struct velocity w = velocity_of(cell);
            size_t at = work_index(plane, i, j);
            work->convected[at] = convection(cell, &w, axis);
            work->diffusing[at] = diffusing(cell, &w, axis);
        }
}

// The fourth difference at a point, by distance. Next to the boundary it leaves out what it lacks.
static void set_weights(const struct lu_axis *axis, int point, double weights[5])
{
    int low = axis->first + point, high = axis->total - 1 - low;
    weights[0] = low > 2 ? 1.0 : 0.0;
    weights[1] = low > 1 ? -4.0 : 0.0;
    weights[2] = low > 1 && high > 1 ? 6.0 : 5.0;
    weights[3] = high > 1 ? -4.0 : 0.0;
    weights[4] = high > 2 ? 1.0 : 0.0;
}

static inline void add_differences(const struct lu_residual *work, const struct plane *plane,
                                   const struct cell *u, int axis, struct cell *residual)
{
    const struct lu_axis *own = axis == X ? plane->x : plane->slow;
    size_t step = own->stride, work_step = axis == X ? 1 : plane->row;
    double points = own->total - 1, first = 0.5 * points, second = points * points;
    for (int j = plane->slow->begin; j < plane->slow->end; j++)
        for (int i = plane->x->begin; i < plane->x->end; i++) {
            double weights[5];
            set_weights(own, axis == X ? i : j, weights);
            size_t at = cell_index(plane, i, j);
            const struct cell *c = work->convected + work_index(plane, i, j);
            const struct cell *d = work->diffusing + work_index(plane, i, j);
            const struct cell *p = u + at;
            for (int m = 0; m < VARIABLES; m++) {
                double sum = weights[0] * p[-2 * (ptrdiff_t)step].v[m]
                             + weights[1] * p[-(ptrdiff_t)step].v[m] + weights[2] * p->v[m]
                             + weights[3] * p[step].v[m] + weights[4] * p[2 * step].v[m];
                const struct cell *c_before = c - work_step, *d_before = d - work_step;
                residual[at].v[m] += second
                                         * (d_before->v[m] - 2.0 * d->v[m] + d[work_step].v[m])
                                     - first * (c[work_step].v[m] - c_before->v[m])
                                     - DISSIPATION * sum;
            }
        }
}

static inline void add_axis(struct lu_residual *work, const struct lu_grid *grid,
                            const struct cell *u, int axis, struct cell *residual)
{
    const struct lu_axis *slow = &grid->axes[axis == Z ? Z : Y];
    const struct lu_axis *over = &grid->axes[axis == Z ? Y : Z];
    for (int k = over->begin; k < over->end; k++) {
        struct plane plane = {&grid->axes[X], slow, grid->origin + (size_t)k * over->stride,
                              (size_t)grid->axes[X].points + 2};
        set_fluxes(work, &plane, u, axis);
        add_differences(work, &plane, u, axis, residual);
    }
}

void lu_set_residual(struct lu_residual *work, const struct lu_grid *grid, const struct cell *u,
                     struct cell *residual)
{
    memcpy(residual, work->forcing, grid->cells * sizeof *residual);
    add_axis(work, grid, u, X, residual);
    add_axis(work, grid, u, Y, residual);
    add_axis(work, grid, u, Z, residual);
}

void lu_set_forcing(struct lu_residual *work, const struct lu_grid *grid, const struct cell *exact)
{
    struct cell *residual = lu_grid_allocate(grid);
    lu_set_residual(work, grid, exact, residual);
    for (size_t i = 0; i < grid->cells; i++)
        for (int m = 0; m < VARIABLES; m++)
            work->forcing[i].v[m] = -residual[i].v[m];
    free(residual);
}
