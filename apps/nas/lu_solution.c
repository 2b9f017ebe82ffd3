#include "lu_solution.h"

#include "comm.h"

#include <math.h>

// The cube is [0, 1] in each dimension.
static void locate(const struct lu_grid *grid, const int point[AXES], double at[AXES])
{
    for (int a = 0; a < AXES; a++)
        at[a] = (double)(grid->axes[a].first + point[a]) / (grid->axes[a].total - 1);
}

static bool is_inside(const struct lu_grid *grid, const int point[AXES])
{
    for (int a = 0; a < AXES; a++)
        if (point[a] < grid->axes[a].begin || point[a] >= grid->axes[a].end)
            return false;
    return true;
}

void lu_set_exact(const struct lu_grid *grid, struct cell *u)
{
    for (int z = 0; z < grid->axes[Z].points; z++)
        for (int y = -GHOSTS; y < grid->axes[Y].points + GHOSTS; y++)
            for (int x = -GHOSTS; x < grid->axes[X].points + GHOSTS; x++) {
                double at[AXES];
                locate(grid, (const int[]){x, y, z}, at);
                exact_solution(at, u[lu_index(grid, x, y, z)].v);
            }
}

void lu_set_initial(const struct lu_grid *grid, struct cell *u)
{
    for (int z = 0; z < grid->axes[Z].points; z++)
        for (int y = 0; y < grid->axes[Y].points; y++)
            for (int x = 0; x < grid->axes[X].points; x++) {
                const int point[] = {x, y, z};
                double at[AXES];
                locate(grid, point, at);
                (is_inside(grid, point) ? transfinite : exact_solution)(
                    at, u[lu_index(grid, x, y, z)].v);
            }
}

// Of `cells`, or of what they are off the exact solution.
static void set_norms(const struct lu_grid *grid, const struct cell *cells, bool off,
                      double norms[VARIABLES])
{
    const struct lu_axis *axes = grid->axes;
    for (int m = 0; m < VARIABLES; m++)
        norms[m] = 0.0;
    for (int z = axes[Z].begin; z < axes[Z].end; z++)
        for (int y = axes[Y].begin; y < axes[Y].end; y++)
            for (int x = axes[X].begin; x < axes[X].end; x++) {
                struct cell value = cells[lu_index(grid, x, y, z)], exact = {{0.0}};
                double at[AXES];
                if (off) {
                    locate(grid, (const int[]){x, y, z}, at);
                    exact_solution(at, exact.v);
                }
                for (int m = 0; m < VARIABLES; m++)
                    norms[m] += (value.v[m] - exact.v[m]) * (value.v[m] - exact.v[m]);
            }
    comm_allreduce(MPI_IN_PLACE, norms, VARIABLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double points = pow(axes[X].total - 2, AXES);
    for (int m = 0; m < VARIABLES; m++)
        norms[m] = sqrt(norms[m] / points);
}

void lu_norms(const struct lu_grid *grid, const struct cell *cells, double norms[VARIABLES])
{
    set_norms(grid, cells, false, norms);
}

void lu_error_norms(const struct lu_grid *grid, const struct cell *u, double norms[VARIABLES])
{
    set_norms(grid, u, true, norms);
}

// By the trapezoidal rule: half where the face ends.
static double trapezoid(int point, const int ends[2])
{
    if (point < ends[0] || point > ends[1])
        return 0.0;
    return point == ends[0] || point == ends[1] ? 0.5 : 1.0;
}

// How much of each face's integral a point is; on an edge it is on two faces.
static double surface_weight(const int point[AXES], int total)
{
    // The box, counted from 0.
    const int ends[AXES][2] = {{1, total - 2}, {1, total - 3}, {2, total - 2}};
    double weight = 0.0;
    for (int a = 0; a < AXES; a++)
        if (point[a] == ends[a][0] || point[a] == ends[a][1]) {
            int b = (a + 1) % AXES, c = (a + 2) % AXES;
            weight += trapezoid(point[b], ends[b]) * trapezoid(point[c], ends[c]);
        }
    return weight;
}

double lu_surface_integral(const struct lu_grid *grid, const struct cell *u)
{
    const struct lu_axis *axes = grid->axes;
    int total = axes[X].total;
    double sum = 0.0;
    for (int z = axes[Z].begin; z < axes[Z].end; z++)
        for (int y = axes[Y].begin; y < axes[Y].end; y++)
            for (int x = axes[X].begin; x < axes[X].end; x++) {
                double weight = surface_weight(
                    (const int[]){axes[X].first + x, axes[Y].first + y, z}, total);
                if (weight == 0.0)
                    continue;
                const struct cell *cell = u + lu_index(grid, x, y, z);
                struct velocity w = velocity_of(cell);
                sum += weight * pressure_of(cell, &w);
            }
    comm_allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / ((total - 1.0) * (total - 1.0));
}
