#include "lu_solution.h"

#include "comm.h"

#include <math.h>

// RNR-94-007, section 3: a constant, and the factors of x, y, z to the first ... fourth power.
enum { POWERS = 4 };

static const struct {
    double constant, factors[POWERS][DIMENSIONS];
} polynomials[LU_VALUES] = {
    {2.0, {{0.0, 0.0, 4.0}, {5.0, 3.0, 0.5}, {0.02, 0.01, 0.03}, {0.5, 0.4, 0.3}}},
    {1.0, {{0.0, 0.0, 0.0}, {1.0, 2.0, 3.0}, {0.01, 0.03, 0.02}, {0.4, 0.3, 0.5}}},
    {2.0, {{2.0, 0.0, 0.0}, {0.0, 2.0, 3.0}, {0.04, 0.03, 0.05}, {0.3, 0.5, 0.4}}},
    {2.0, {{2.0, 0.0, 0.0}, {0.0, 2.0, 3.0}, {0.03, 0.05, 0.04}, {0.2, 0.1, 0.3}}},
    {5.0, {{4.0, 3.0, 2.0}, {0.1, 0.4, 0.3}, {0.05, 0.04, 0.03}, {0.1, 0.3, 0.2}}},
};

static struct cell exact_at(const double at[DIMENSIONS])
{
    struct cell u;
    for (int m = 0; m < LU_VALUES; m++) {
        u.v[m] = polynomials[m].constant;
        for (int a = 0; a < DIMENSIONS; a++) {
            double sum = 0.0;
            for (int power = POWERS - 1; power >= 0; power--)
                sum = (sum + polynomials[m].factors[power][a]) * at[a];
            u.v[m] += sum;
        }
    }
    return u;
}

// The cube is [0, 1] in each dimension.
static void locate(const struct lu_grid *grid, const int point[DIMENSIONS], double at[DIMENSIONS])
{
    for (int a = 0; a < DIMENSIONS; a++)
        at[a] = (double)(grid->axes[a].first + point[a]) / (grid->axes[a].total - 1);
}

static bool is_inside(const struct lu_grid *grid, const int point[DIMENSIONS])
{
    for (int a = 0; a < DIMENSIONS; a++)
        if (point[a] < grid->axes[a].begin || point[a] >= grid->axes[a].end)
            return false;
    return true;
}

void lu_set_exact(const struct lu_grid *grid, struct cell *u)
{
    for (int z = 0; z < grid->axes[Z].points; z++)
        for (int y = -GHOSTS; y < grid->axes[Y].points + GHOSTS; y++)
            for (int x = -GHOSTS; x < grid->axes[X].points + GHOSTS; x++) {
                double at[DIMENSIONS];
                locate(grid, (const int[]){x, y, z}, at);
                u[lu_index(grid, x, y, z)] = exact_at(at);
            }
}

// Transfinite: linear along each axis between the faces, a Boolean sum of the three.
static struct cell interpolated_at(const double at[DIMENSIONS])
{
    struct cell along[DIMENSIONS], u;
    for (int a = 0; a < DIMENSIONS; a++) {
        double end[DIMENSIONS] = {at[X], at[Y], at[Z]};
        end[a] = 0.0;
        struct cell low = exact_at(end);
        end[a] = 1.0;
        struct cell high = exact_at(end);
        for (int m = 0; m < LU_VALUES; m++)
            along[a].v[m] = (1.0 - at[a]) * low.v[m] + at[a] * high.v[m];
    }
    for (int m = 0; m < LU_VALUES; m++) {
        double x = along[X].v[m], y = along[Y].v[m], z = along[Z].v[m];
        u.v[m] = x + y + z - x * y - y * z - z * x + x * y * z;
    }
    return u;
}

void lu_set_initial(const struct lu_grid *grid, struct cell *u)
{
    for (int z = 0; z < grid->axes[Z].points; z++)
        for (int y = 0; y < grid->axes[Y].points; y++)
            for (int x = 0; x < grid->axes[X].points; x++) {
                const int point[] = {x, y, z};
                double at[DIMENSIONS];
                locate(grid, point, at);
                u[lu_index(grid, x, y, z)]
                    = is_inside(grid, point) ? interpolated_at(at) : exact_at(at);
            }
}

// Of `cells`, or of what they are off the exact solution.
static void set_norms(const struct lu_grid *grid, const struct cell *cells, bool off,
                      double norms[LU_VALUES])
{
    const struct lu_axis *axes = grid->axes;
    for (int m = 0; m < LU_VALUES; m++)
        norms[m] = 0.0;
    for (int z = axes[Z].begin; z < axes[Z].end; z++)
        for (int y = axes[Y].begin; y < axes[Y].end; y++)
            for (int x = axes[X].begin; x < axes[X].end; x++) {
                struct cell value = cells[lu_index(grid, x, y, z)], exact = {{0.0}};
                double at[DIMENSIONS];
                if (off) {
                    locate(grid, (const int[]){x, y, z}, at);
                    exact = exact_at(at);
                }
                for (int m = 0; m < LU_VALUES; m++)
                    norms[m] += (value.v[m] - exact.v[m]) * (value.v[m] - exact.v[m]);
            }
    comm_allreduce(MPI_IN_PLACE, norms, LU_VALUES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double points = pow(axes[X].total - 2, DIMENSIONS);
    for (int m = 0; m < LU_VALUES; m++)
        norms[m] = sqrt(norms[m] / points);
}

void lu_norms(const struct lu_grid *grid, const struct cell *cells, double norms[LU_VALUES])
{
    set_norms(grid, cells, false, norms);
}

void lu_error_norms(const struct lu_grid *grid, const struct cell *u, double norms[LU_VALUES])
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
static double surface_weight(const int point[DIMENSIONS], int total)
{
    // The box, counted from 0.
    const int ends[DIMENSIONS][2] = {{1, total - 2}, {1, total - 3}, {2, total - 2}};
    double weight = 0.0;
    for (int a = 0; a < DIMENSIONS; a++)
        if (point[a] == ends[a][0] || point[a] == ends[a][1]) {
            int b = (a + 1) % DIMENSIONS, c = (a + 2) % DIMENSIONS;
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
