#include "mg_stencil.h"

#include "buffer.h"

#include <stdlib.h>

void row_sums_create(struct row_sums *sums, const struct level *finest)
{
    sums->faces = allocate(finest->row * sizeof(double));
    sums->edges = allocate(finest->row * sizeof(double));
}

void row_sums_destroy(struct row_sums *sums)
{
    free(sums->faces);
    free(sums->edges);
}

// Of the rows around the one that starts at `row`, over its whole length.
static void add_rows(const struct level *level, struct row_sums *sums, const double *row)
{
    size_t length = level->row, plane = level->plane;
    const double *restrict south = row - length, *restrict north = row + length;
    const double *restrict below = row - plane, *restrict above = row + plane;
    double *restrict faces = sums->faces, *restrict edges = sums->edges;
    for (size_t i = 0; i < length; i++) {
        faces[i] = (south[i] + north[i]) + (below[i] + above[i]);
        edges[i] = (below[i - length] + below[i + length])
            + (above[i - length] + above[i + length]);
    }
}

void subtract_laplacian(const struct level *level, struct row_sums *sums, const double *right)
{
    // RNR-94-007: A is -8/3 in the centre, 0 on faces, 1/6 on edges, 1/12 in corners.
    const double centre = -8.0 / 3.0, edge = 1.0 / 6.0, corner = 1.0 / 12.0;
    const double *faces = sums->faces, *edges = sums->edges;
    int nx = level->axes[X].points;
    for (int z = 1; z <= level->axes[Z].points; z++)
        for (int y = 1; y <= level->axes[Y].points; y++) {
            size_t start = level_index(level, 0, y, z);
            const double *restrict u = level->solution + start;
            // Not restrict: these may be the same.
            const double *v = right + start;
            double *r = level->residual + start;
            add_rows(level, sums, u);
            for (int x = 1; x <= nx; x++)
                r[x] = v[x] - centre * u[x] - edge * (edges[x] + faces[x - 1] + faces[x + 1])
                    - corner * (edges[x - 1] + edges[x + 1]);
        }
}

void smooth(const struct level *level, struct row_sums *sums, const struct smoother *weights)
{
    const double centre = weights->centre, face = weights->face, edge = weights->edge;
    const double *faces = sums->faces, *edges = sums->edges;
    int nx = level->axes[X].points;
    for (int z = 1; z <= level->axes[Z].points; z++)
        for (int y = 1; y <= level->axes[Y].points; y++) {
            size_t start = level_index(level, 0, y, z);
            const double *restrict r = level->residual + start;
            double *restrict u = level->solution + start;
            add_rows(level, sums, r);
            for (int x = 1; x <= nx; x++)
                u[x] += centre * r[x] + face * (r[x - 1] + r[x + 1] + faces[x])
                    + edge * (edges[x] + faces[x - 1] + faces[x + 1]);
        }
}

void restrict_residual(const struct level *fine, const struct level *coarse, struct row_sums *sums)
{
    const double *faces = sums->faces, *edges = sums->edges;
    const struct axis *axes = coarse->axes;
    for (int z = 1; z <= axes[Z].points; z++)
        for (int y = 1; y <= axes[Y].points; y++) {
            double *restrict to = coarse->residual + level_index(coarse, 0, y, z);
            const double *restrict r = fine->residual
                + level_index(fine, 0, 2 * y - axes[Y].shift, 2 * z - axes[Z].shift);
            add_rows(fine, sums, r);
            for (int x = 1; x <= axes[X].points; x++) {
                int i = 2 * x - axes[X].shift;
                to[x] = 0.5 * r[i] + 0.25 * (r[i - 1] + r[i + 1] + faces[i])
                    + 0.125 * (edges[i] + faces[i - 1] + faces[i + 1])
                    + 0.0625 * (edges[i - 1] + edges[i + 1]);
            }
        }
}

// Coarse rows at what is row `y`, `z` of the fine level: the mean of the two or four next to it, or
// the one that is there, which then counts as all four.
static void mean_row(const struct level *coarse, int y, int z, double *restrict mean)
{
    int at_y = y + coarse->axes[Y].shift, at_z = z + coarse->axes[Z].shift;
    const double *c = coarse->solution;
    const double *restrict south_below = c + level_index(coarse, 0, at_y / 2, at_z / 2);
    const double *restrict north_below = c + level_index(coarse, 0, (at_y + 1) / 2, at_z / 2);
    const double *restrict south_above = c + level_index(coarse, 0, at_y / 2, (at_z + 1) / 2);
    const double *restrict north_above = c + level_index(coarse, 0, (at_y + 1) / 2, (at_z + 1) / 2);
    for (size_t i = 0; i < coarse->row; i++)
        mean[i] = 0.25 * ((south_below[i] + north_below[i]) + (south_above[i] + north_above[i]));
}

void add_interpolated(const struct level *coarse, const struct level *fine, struct row_sums *sums)
{
    const double *mean = sums->faces;
    int points = coarse->axes[X].points, shift = coarse->axes[X].shift;
    int last = fine->axes[X].points + 1;
    for (int z = 0; z <= fine->axes[Z].points + 1; z++)
        for (int y = 0; y <= fine->axes[Y].points + 1; y++) {
            double *restrict u = fine->solution + level_index(fine, 0, y, z);
            mean_row(coarse, y, z, sums->faces);
            if (shift == 0)
                u[0] += mean[0];
            for (int x = 0; x < points; x++) {
                u[2 * x + 1 - shift] += 0.5 * (mean[x] + mean[x + 1]);
                u[2 * x + 2 - shift] += mean[x + 1];
            }
            // One that borrows has nothing beyond its two points.
            if (2 * points + 1 - shift <= last)
                u[2 * points + 1 - shift] += 0.5 * (mean[points] + mean[points + 1]);
        }
}
