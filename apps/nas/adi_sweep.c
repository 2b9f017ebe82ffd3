#include "adi_sweep.h"

struct sweep {
    struct flow *flow;
    const struct line_solver *solver;
};

typedef void line_work(const struct line *line);

static void each_line(const struct sweep *sweep, int c, int axis, line_work *work, double *border,
                      int border_values)
{
    struct flow *flow = sweep->flow;
    const struct cell *cell = &flow->parts.cells[c];
    struct fields *fields = &flow->fields[c];
    double n = flow->parts.points - 1;
    const struct implicit_step by = {flow->dt * 0.5 * n, flow->dt * n * n, flow->dt * DISSIPATION};
    int first = cell->first[axis], across = axis == 0 ? 1 : 0, up = axis == 2 ? 1 : 2;
    struct line line = {.fields = fields,
                        .axis = axis,
                        .length = cell->end[axis] - first,
                        .stride = cell->stride[axis],
                        .by = &by,
                        .dissipation = (const double (*)[5])(fields->dissipation[axis] + first),
                        .equations = fields->equations,
                        .border = border};
    for (int j = cell->first[up]; j < cell->end[up]; j++)
        for (int i = cell->first[across]; i < cell->end[across]; i++) {
            line.start = cell_index(cell, 0, 0, 0) + first * line.stride +
                         i * cell->stride[across] + j * cell->stride[up];
            work(&line);
            line.equations += line.length * sweep->solver->equation_values;
            line.border += border_values;
        }
}

static void eliminate(void *context, int c, int axis, double *border)
{
    const struct sweep *sweep = context;
    each_line(sweep, c, axis, sweep->solver->eliminate, border, sweep->solver->forward_values);
}

static void substitute(void *context, int c, int axis, double *border)
{
    const struct sweep *sweep = context;
    each_line(sweep, c, axis, sweep->solver->substitute, border, sweep->solver->backward_values);
}

void solve_lines(struct flow *flow, int axis, const struct line_solver *solver)
{
    struct sweep sweep = {flow, solver};
    sweep_forward(&flow->parts, axis, solver->forward_values, eliminate, &sweep);
    sweep_backward(&flow->parts, axis, solver->backward_values, substitute, &sweep);
}
