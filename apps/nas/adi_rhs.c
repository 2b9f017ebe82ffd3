// The right-hand side: fluxes by central differences, viscous terms, diffusion, fourth-order
// dissipation.
#include "adi_flow.h"

#include <math.h>

static void derive(const double *u, struct derived *g)
{
    g->inverse = 1.0 / u[0];
    double squares = 0.0;
    for (int axis = 0; axis < AXES; axis++) {
        g->velocity[axis] = u[1 + axis] * g->inverse;
        squares += u[1 + axis] * u[1 + axis];
    }
    g->kinetic = 0.5 * squares * g->inverse;
    g->specific = g->kinetic * g->inverse;
    g->sound = sqrt(C1 * C2 * g->inverse * (u[4] - g->kinetic));
}

static void derive_all(const struct cell *cell, struct fields *fields)
{
    for (int z = -1; z <= cell->points[2]; z++)
        for (int y = -1; y <= cell->points[1]; y++)
            for (int x = -1; x <= cell->points[0]; x++) {
                ptrdiff_t i = cell_index(cell, x, y, z);
                derive(fields->u + i * VARIABLES, &fields->derived[i]);
            }
}

// Factors of differences on a grid of spacing 1 / (points - 1).
struct differences {
    double first; // half of it to either side
    double second;
    double viscous; // of the velocities' second differences
};

static inline double second_difference(double before, double here, double after)
{
    return before - 2.0 * here + after;
}

// Fluxes along an axis, and viscous terms.
static inline void add_fluxes(const double *u, const struct derived *g, int axis, ptrdiff_t stride,
                              const struct differences *by, double *r)
{
    const double *above = u + stride * VARIABLES, *below = u - stride * VARIABLES;
    const struct derived *a = g + stride, *b = g - stride;
    double va = a->velocity[axis], v = g->velocity[axis], vb = b->velocity[axis];
    r[0] -= by->first * (above[1 + axis] - below[1 + axis]);
    for (int c = 0; c < AXES; c++) {
        double viscous = by->viscous * (c == axis ? 4.0 / 3.0 : 1.0);
        r[1 + c] += viscous * second_difference(b->velocity[c], g->velocity[c], a->velocity[c]) -
                    by->first * (above[1 + c] * va - below[1 + c] * vb);
    }
    r[1 + axis] -= by->first * C2 * ((above[4] - a->kinetic) - (below[4] - b->kinetic));
    r[4] += by->viscous * ((1.0 - C1C5) * second_difference(b->specific, g->specific, a->specific) +
                           second_difference(vb * vb, v * v, va * va) / 6.0 +
                           C1C5 * second_difference(below[4] * b->inverse, u[4] * g->inverse,
                                                    above[4] * a->inverse)) -
            by->first *
                ((C1 * above[4] - C2 * a->kinetic) * va - (C1 * below[4] - C2 * b->kinetic) * vb);
}

static inline void add_diffusion(const double *u, ptrdiff_t stride, double factor,
                                 const double *dissipation, double *r)
{
    ptrdiff_t step = stride * VARIABLES;
    for (int m = 0; m < VARIABLES; m++)
        r[m] += factor * second_difference(u[m - step], u[m], u[m + step]) -
                DISSIPATION * (dissipation[0] * u[m - 2 * step] + dissipation[1] * u[m - step] +
                               dissipation[2] * u[m] + dissipation[3] * u[m + step] +
                               dissipation[4] * u[m + 2 * step]);
}

static inline void add_axis(const struct cell *cell, const struct fields *fields, ptrdiff_t i,
                            int axis, int at, const struct differences *by, double *r)
{
    const double *u = fields->u + i * VARIABLES;
    add_fluxes(u, fields->derived + i, axis, cell->stride[axis], by, r);
    add_diffusion(u, cell->stride[axis], DIFFUSION[axis] * by->second,
                  fields->dissipation[axis][at], r);
}

void cell_set_rhs(const struct cell *cell, struct fields *fields, int points, double dt)
{
    double n = points - 1;
    const struct differences by = {0.5 * n, n * n, C3C4 * n * n};
    derive_all(cell, fields);
    for (int z = cell->first[2]; z < cell->end[2]; z++)
        for (int y = cell->first[1]; y < cell->end[1]; y++)
            for (int x = cell->first[0]; x < cell->end[0]; x++) {
                ptrdiff_t i = cell_index(cell, x, y, z);
                double r[VARIABLES];
                for (int m = 0; m < VARIABLES; m++)
                    r[m] = fields->forcing[i * VARIABLES + m];
                add_axis(cell, fields, i, 0, x, &by, r);
                add_axis(cell, fields, i, 1, y, &by, r);
                add_axis(cell, fields, i, 2, z, &by, r);
                for (int m = 0; m < VARIABLES; m++)
                    fields->rhs[i * VARIABLES + m] = dt * r[m];
            }
}
