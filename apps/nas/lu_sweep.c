#include "lu_sweep.h"

void lu_system_create(struct lu_system *system, const struct lu_grid *grid, double step)
{
    double squares = 0.0;
    *system = (struct lu_system){.diagonal = 1.0};
    for (int a = 0; a < AXES; a++) {
        double points = grid->axes[a].total - 1, square = points * points;
        system->first[a] = omega * step * 0.5 * points;
        system->second[a] = omega * step * square;
        system->diagonal += 2.0 * step * square * DIFFUSION[a];
        system->momentum[a] = 2.0 * step * C3C4 * square / 3.0;
        squares += square;
    }
    for (int a = 0; a < AXES; a++)
        system->momentum[a] += 2.0 * step * C3C4 * squares;
    system->energy = 2.0 * step * C3C4 * C1C5 * squares;
}

// D^-1 d. The convection's differences cancel in the diagonal block; what is left of it is lower
// triangular: velocities depend on density and momentum, the energy on all.
static inline struct cell solve_diagonal(const struct lu_system *system, const struct cell *u,
                                         struct cell d)
{
    struct velocity w = velocity_of(u);
    double density = d.v[DENSITY] / system->diagonal;
    double energy = d.v[ENERGY]
                    + system->energy * w.inverse * w.inverse * u->v[ENERGY] * density;
    struct cell solved;
    solved.v[DENSITY] = density;
    for (int c = 0; c < AXES; c++) {
        double viscous = system->momentum[c] * w.inverse;
        double momentum = (d.v[MOMENTUM + c] + viscous * w.v[c] * density)
                          / (system->diagonal + viscous);
        double change = (momentum - w.v[c] * density) * w.inverse;
        energy -= (system->momentum[c] - system->energy) * w.v[c] * change;
        solved.v[MOMENTUM + c] = momentum;
    }
    solved.v[ENERGY] = energy / (system->diagonal + system->energy * w.inverse);
    return solved;
}

// What a neighbour before a point (sign -1) adds to -omega L d, or one after it (1) to omega U d.
// Blocks are not made, only their products.
static inline void add_neighbour(const struct lu_system *system, const struct lu_grid *grid,
                                 const struct cell *u, const struct cell *d, int axis, int sign,
                                 struct cell *sum)
{
    ptrdiff_t to = sign * (ptrdiff_t)grid->axes[axis].stride;
    add_change(u + to, d + to, axis, system->first[axis], -sign * system->second[axis], sum);
}

static inline void sweep_point(const struct lu_system *system, const struct lu_grid *grid,
                               const struct cell *u, struct cell *d, int sign)
{
    struct cell sum = {{0.0}};
    if (sign < 0)
        sum = *d;
    add_neighbour(system, grid, u, d, Z, sign, &sum);
    add_neighbour(system, grid, u, d, Y, sign, &sum);
    add_neighbour(system, grid, u, d, X, sign, &sum);
    struct cell solved = solve_diagonal(system, u, sum);
    if (sign < 0)
        *d = solved;
    else
        for (int m = 0; m < VARIABLES; m++)
            d->v[m] -= solved.v[m];
}

void lu_sweep_forward(const struct lu_system *system, struct lu_grid *grid, const struct cell *u,
                      struct cell *d)
{
    const struct lu_axis *axes = grid->axes;
    for (int z = axes[Z].begin; z < axes[Z].end; z++) {
        lu_wave_receive(grid, d, z, true);
        for (int y = axes[Y].begin; y < axes[Y].end; y++)
            for (int x = axes[X].begin; x < axes[X].end; x++) {
                size_t at = lu_index(grid, x, y, z);
                sweep_point(system, grid, u + at, d + at, -1);
            }
        lu_wave_send(grid, d, z, true);
    }
}

void lu_sweep_backward(const struct lu_system *system, struct lu_grid *grid, const struct cell *u,
                       struct cell *d)
{
    const struct lu_axis *axes = grid->axes;
    for (int z = axes[Z].end - 1; z >= axes[Z].begin; z--) {
        lu_wave_receive(grid, d, z, false);
        for (int y = axes[Y].end - 1; y >= axes[Y].begin; y--)
            for (int x = axes[X].end - 1; x >= axes[X].begin; x--) {
                size_t at = lu_index(grid, x, y, z);
                sweep_point(system, grid, u + at, d + at, 1);
            }
        lu_wave_send(grid, d, z, false);
    }
}
