#include "bt_block.h"

#include <string.h>

typedef double block[VARIABLES][VARIABLES];

// Of the flux along an axis by the five variables. What is not set stays zero.
static void set_flux_jacobian(const double u[VARIABLES], const struct derived *g, int axis, block f)
{
    const double *v = g->velocity;
    double along = v[axis], energy = C1 * u[4] * g->inverse;
    f[0][1 + axis] = 1.0;
    for (int c = 0; c < AXES; c++) {
        f[1 + c][0] = -v[c] * along;
        f[1 + c][1 + c] = along;
    }
    for (int c = 0; c < AXES; c++)
        f[1 + c][1 + axis] = v[c];
    for (int c = 0; c < AXES; c++)
        f[1 + axis][1 + c] = c == axis ? (2.0 - C2) * along : -C2 * v[c];
    f[1 + axis][0] += C2 * g->specific;
    f[1 + axis][4] = C2;
    f[4][0] = (2.0 * C2 * g->specific - energy) * along;
    for (int c = 0; c < AXES; c++)
        f[4][1 + c] = -C2 * v[c] * along;
    f[4][1 + axis] += energy - C2 * g->specific;
    f[4][4] = C1 * along;
}

// Of the viscous terms along an axis.
static void set_viscous_jacobian(const double u[VARIABLES], const struct derived *g, int axis,
                                 block n)
{
    double unit = C3C4 * g->inverse, heat = C1C5 * unit;
    n[4][0] = -heat * u[4] * g->inverse;
    for (int c = 0; c < AXES; c++) {
        double stress = unit * (c == axis ? 4.0 / 3.0 : 1.0), v = g->velocity[c];
        n[1 + c][0] = -stress * v;
        n[1 + c][1 + c] = stress;
        n[4][0] -= (stress - heat) * v * v;
        n[4][1 + c] = (stress - heat) * v;
    }
    n[4][4] = heat;
}

void set_point_blocks(const double u[VARIABLES], const struct derived *g, int axis,
                      const struct implicit_step *by, struct point_blocks *blocks)
{
    block flux = {{0.0}}, viscous = {{0.0}};
    set_flux_jacobian(u, g, axis, flux);
    set_viscous_jacobian(u, g, axis, viscous);
    for (int m = 0; m < VARIABLES; m++) {
        viscous[m][m] += DIFFUSION[axis];
        for (int n = 0; n < VARIABLES; n++) {
            double f = by->flux * flux[m][n], v = by->viscous * viscous[m][n];
            blocks->to_above[m][n] = -f - v;
            blocks->own[m][n] = 2.0 * v;
            blocks->to_below[m][n] = f - v;
        }
        blocks->own[m][m] += 1.0;
    }
}

// Columns: the point's own block, the right side, the block of the next; one without use makes it
// even.
enum { RIGHT = VARIABLES, NEXT = RIGHT + 1, COLUMNS = 12 };

// Own block and right side, less below * before.
static void substitute_before(double rows[VARIABLES][COLUMNS], const struct point_blocks *below,
                              const double before[EQUATION])
{
    for (int m = 0; m < VARIABLES; m++)
        for (int k = 0; k < VARIABLES; k++)
            for (int c = 0; c < ROW; c++)
                rows[m][c] -= below->to_above[m][k] * before[k * ROW + c];
}

// By Gauss and Jordan. Diffusion makes the diagonal large: no pivots are sought.
static void solve_rows(double rows[VARIABLES][COLUMNS])
{
#pragma GCC unroll 5
    for (int p = 0; p < VARIABLES; p++) {
        double scale = 1.0 / rows[p][p];
        for (int c = p + 1; c < COLUMNS; c++)
            rows[p][c] *= scale;
#pragma GCC unroll 5
        for (int m = 0; m < VARIABLES; m++) {
            if (m == p)
                continue;
            double factor = rows[m][p];
            for (int c = p + 1; c < COLUMNS; c++)
                rows[m][c] -= factor * rows[p][c];
        }
    }
}

void eliminate_block(const struct point_blocks *below, const struct point_blocks *here,
                     const struct point_blocks *above, const double right[VARIABLES],
                     const double before[EQUATION], double solved[EQUATION])
{
    double rows[VARIABLES][COLUMNS];
    for (int m = 0; m < VARIABLES; m++) {
        memcpy(rows[m], here->own[m], sizeof here->own[m]);
        rows[m][RIGHT] = right[m];
        memcpy(rows[m] + NEXT, above->to_below[m], sizeof above->to_below[m]);
        rows[m][COLUMNS - 1] = 0.0;
    }
    substitute_before(rows, below, before);
    solve_rows(rows);
    for (int m = 0; m < VARIABLES; m++) {
        memcpy(solved + m * ROW, rows[m] + NEXT, VARIABLES * sizeof(double));
        solved[m * ROW + VARIABLES] = rows[m][RIGHT];
    }
}
