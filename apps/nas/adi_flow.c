#include "adi_flow.h"

#include "buffer.h" // allocate
#include "comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of the fourth difference; one-sided beside the boundary.
static void set_dissipation(double (*coefficients)[5], const struct cell *cell, int axis,
                            int points)
{
    for (int i = cell->first[axis]; i < cell->end[axis]; i++) {
        int at = cell->low[axis] + i;
        bool beside = at == 1 || at == points - 2;
        double *c = coefficients[i];
        c[0] = at > 2 ? 1.0 : 0.0;
        c[1] = at > 1 ? -4.0 : 0.0;
        c[2] = beside ? 5.0 : 6.0;
        c[3] = at < points - 2 ? -4.0 : 0.0;
        c[4] = at < points - 3 ? 1.0 : 0.0;
    }
}

static void create_fields(struct fields *fields, const struct cell *cell,
                          const struct flow_sizes *sizes)
{
    size_t size = (size_t)cell->size, bytes = size * VARIABLES * sizeof(double);
    double **arrays[] = {&fields->u, &fields->rhs, &fields->forcing};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = allocate(bytes);
        memset(*arrays[i], 0, bytes);
    }
    fields->derived = allocate(size * sizeof *fields->derived);
    for (int axis = 0; axis < AXES; axis++) {
        fields->dissipation[axis] =
            allocate((size_t)cell->points[axis] * sizeof *fields->dissipation[axis]);
        set_dissipation(fields->dissipation[axis], cell, axis, sizes->points);
    }
    fields->equations = allocate(size * (size_t)sizes->equation_values * sizeof(double));
}

typedef void point_values(const double position[AXES], double u[VARIABLES]);

// Points on the boundary are exact, and ghosts outside it as well, which no difference uses.
static void set_cell(const struct flow *flow, int c, point_values *inside)
{
    const struct cell *cell = &flow->parts.cells[c];
    int points = flow->parts.points;
    for (int z = -GHOSTS; z < cell->points[2] + GHOSTS; z++)
        for (int y = -GHOSTS; y < cell->points[1] + GHOSTS; y++)
            for (int x = -GHOSTS; x < cell->points[0] + GHOSTS; x++) {
                int at[AXES] = {x + cell->low[0], y + cell->low[1], z + cell->low[2]};
                double position[AXES];
                bool inner = true;
                for (int axis = 0; axis < AXES; axis++) {
                    position[axis] = fmin(fmax((double)at[axis] / (points - 1), 0.0), 1.0);
                    inner = inner && at[axis] > 0 && at[axis] < points - 1;
                }
                point_values *values = inner ? inside : exact_solution;
                values(position, flow->fields[c].u + cell_index(cell, x, y, z) * VARIABLES);
            }
}

// By it the exact solution does not change in time.
static void set_forcing(struct flow *flow)
{
    for (int c = 0; c < flow->parts.side; c++) {
        struct fields *fields = &flow->fields[c];
        const struct cell *cell = &flow->parts.cells[c];
        set_cell(flow, c, exact_solution);
        cell_set_rhs(cell, fields, flow->parts.points, 1.0);
        for (ptrdiff_t i = 0; i < cell->size * VARIABLES; i++)
            fields->forcing[i] = -fields->rhs[i];
    }
}

void flow_create(struct flow *flow, const struct flow_sizes *sizes, double dt, int rank, int ranks)
{
    flow->dt = dt;
    multipartition_create(&flow->parts, sizes->points, sizes->border_values, rank, ranks);
    for (int c = 0; c < flow->parts.side; c++) {
        create_fields(&flow->fields[c], &flow->parts.cells[c], sizes);
        flow->u[c] = flow->fields[c].u;
    }
    set_forcing(flow);
}

void flow_destroy(struct flow *flow)
{
    for (int c = 0; c < flow->parts.side; c++) {
        struct fields *fields = &flow->fields[c];
        free(fields->u);
        free(fields->rhs);
        free(fields->forcing);
        free(fields->derived);
        free(fields->equations);
        for (int axis = 0; axis < AXES; axis++)
            free(fields->dissipation[axis]);
    }
    multipartition_destroy(&flow->parts);
}

uint64_t flow_memory(const struct flow_sizes *sizes, int ranks)
{
    uint64_t side = (uint64_t)multipartition_side(ranks);
    uint64_t points = (uint64_t)sizes->points / side + 1 + 2 * GHOSTS;
    uint64_t values = 3 * VARIABLES + (uint64_t)sizes->equation_values;
    return side * points * points * points * (values * sizeof(double) + sizeof(struct derived));
}

void flow_set_initial(struct flow *flow)
{
    for (int c = 0; c < flow->parts.side; c++)
        set_cell(flow, c, transfinite);
}

void flow_set_rhs(struct flow *flow)
{
    multipartition_exchange(&flow->parts, flow->u);
    for (int c = 0; c < flow->parts.side; c++)
        cell_set_rhs(&flow->parts.cells[c], &flow->fields[c], flow->parts.points, flow->dt);
}

void flow_add(struct flow *flow)
{
    for (int c = 0; c < flow->parts.side; c++) {
        const struct cell *cell = &flow->parts.cells[c];
        ptrdiff_t run = (cell->end[0] - cell->first[0]) * VARIABLES;
        for (int z = cell->first[2]; z < cell->end[2]; z++)
            for (int y = cell->first[1]; y < cell->end[1]; y++) {
                ptrdiff_t start = cell_index(cell, cell->first[0], y, z) * VARIABLES;
                double *u = flow->fields[c].u + start;
                const double *change = flow->fields[c].rhs + start;
                for (ptrdiff_t i = 0; i < run; i++)
                    u[i] += change[i];
            }
    }
}

// Of sums of squares over the ranks. The error's are over all points, but divided as the others (it
// is zero on the boundary).
static void finish_norms(const struct flow *flow, double norms[VARIABLES])
{
    comm_allreduce(MPI_IN_PLACE, norms, VARIABLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int m = 0; m < VARIABLES; m++)
        norms[m] = sqrt(norms[m] / pow(flow->parts.points - 2, AXES));
}

typedef void add_squares(const struct flow *flow, int c, const int at[AXES],
                         double sums[VARIABLES]);

static void add_residual(const struct flow *flow, int c, const int at[AXES], double sums[VARIABLES])
{
    const double *rhs =
        flow->fields[c].rhs + cell_index(&flow->parts.cells[c], at[0], at[1], at[2]) * VARIABLES;
    for (int m = 0; m < VARIABLES; m++)
        sums[m] += rhs[m] / flow->dt * (rhs[m] / flow->dt);
}

static void add_error(const struct flow *flow, int c, const int at[AXES], double sums[VARIABLES])
{
    const struct cell *cell = &flow->parts.cells[c];
    const double *u = flow->fields[c].u + cell_index(cell, at[0], at[1], at[2]) * VARIABLES;
    double position[AXES], exact[VARIABLES];
    for (int axis = 0; axis < AXES; axis++)
        position[axis] = (double)(cell->low[axis] + at[axis]) / (flow->parts.points - 1);
    exact_solution(position, exact);
    for (int m = 0; m < VARIABLES; m++)
        sums[m] += (u[m] - exact[m]) * (u[m] - exact[m]);
}

static void sum_inner(const struct flow *flow, add_squares *add, double norms[VARIABLES])
{
    memset(norms, 0, VARIABLES * sizeof *norms);
    for (int c = 0; c < flow->parts.side; c++) {
        const struct cell *cell = &flow->parts.cells[c];
        for (int z = cell->first[2]; z < cell->end[2]; z++)
            for (int y = cell->first[1]; y < cell->end[1]; y++)
                for (int x = cell->first[0]; x < cell->end[0]; x++)
                    add(flow, c, (int[AXES]){x, y, z}, norms);
    }
    finish_norms(flow, norms);
}

void flow_residual_norms(struct flow *flow, double norms[VARIABLES])
{
    flow_set_rhs(flow);
    sum_inner(flow, add_residual, norms);
}

void flow_error_norms(struct flow *flow, double norms[VARIABLES])
{
    sum_inner(flow, add_error, norms);
}
