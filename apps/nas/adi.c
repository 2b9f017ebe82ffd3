#include "adi.h"

#include <stdio.h>

static const struct adi_program *solver;
static struct flow flow;

static const struct adi_problem *problem_of(const struct nas *nas)
{
    return &solver->problems[nas->problem_class];
}

static const char *ranks_needed(const struct nas *nas)
{
    static char text[64];
    int most = multipartition_most_ranks(problem_of(nas)->points), ranks = nas->session.ranks;
    snprintf(text, sizeof text, "a square number, at most %d", most);
    return multipartition_side(ranks) > 0 && ranks <= most ? NULL : text;
}

static struct flow_sizes sizes_of(const struct nas *nas)
{
    const struct line_solver *lines = &solver->lines;
    return (struct flow_sizes){
        .points = problem_of(nas)->points,
        .equation_values = lines->equation_values,
        .border_values = lines->forward_values > lines->backward_values ? lines->forward_values
                                                                        : lines->backward_values,
    };
}

static uint64_t memory(const struct nas *nas)
{
    struct flow_sizes sizes = sizes_of(nas);
    return flow_memory(&sizes, nas->session.ranks);
}

static void describe(const struct nas *nas, char *text, size_t capacity)
{
    const struct adi_problem *problem = problem_of(nas);
    int n = problem->points;
    snprintf(text, capacity, "%d x %d x %d, %d iterations, time step %g", n, n, n,
             problem->iterations, problem->dt);
}

static void create(struct nas *nas)
{
    struct flow_sizes sizes = sizes_of(nas);
    flow_create(&flow, &sizes, problem_of(nas)->dt, nas->session.rank, nas->session.ranks);
}

static void change(change_of_variables *variables)
{
    for (int c = 0; variables != NULL && c < flow.parts.side; c++)
        variables(&flow.parts.cells[c], &flow.fields[c]);
}

static void step(void)
{
    flow_set_rhs(&flow);
    change(solver->before);
    for (int axis = 0; axis < AXES; axis++) {
        solve_lines(&flow, axis, &solver->lines);
        change(solver->after[axis]);
    }
    flow_add(&flow);
}

// A step before the clock runs makes the connections; then the flow is as it begins.
static void prepare(struct nas *nas)
{
    (void)nas;
    flow_set_initial(&flow);
    step();
    flow_set_initial(&flow);
}

static void run(struct nas *nas)
{
    for (int i = 0; i < problem_of(nas)->iterations; i++)
        step();
}

static void verify(struct nas *nas)
{
    const struct adi_problem *problem = problem_of(nas);
    double residual[VARIABLES], error[VARIABLES];
    flow_error_norms(&flow, error);
    flow_residual_norms(&flow, residual);
    expect_norms(nas, residual, problem->residual, error, problem->error);
}

static void destroy(struct nas *nas)
{
    (void)nas;
    flow_destroy(&flow);
}

int adi_main(const struct adi_program *program, int argc, char **argv)
{
    solver = program;
    const struct nas_kernel kernel = {
        .program = program->program,
        .ranks_needed = ranks_needed,
        .memory = memory,
        .describe = describe,
        .create = create,
        .prepare = prepare,
        .run = run,
        .verify = verify,
        .destroy = destroy,
    };
    return nas_main(&kernel, argc, argv);
}
