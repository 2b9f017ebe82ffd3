#include "adi.h"

#include <stdio.h>

static struct flow flow;

static const struct adi_problem *problem_of(const struct app *app)
{
    return &adi_program.problems[nas_class(app)];
}

static const char *ranks_needed(const struct app *app)
{
    static char text[64];
    int most = multipartition_most_ranks(problem_of(app)->points), ranks = app->session.ranks;
    snprintf(text, sizeof text, "a square number, at most %d", most);
    return multipartition_side(ranks) > 0 && ranks <= most ? NULL : text;
}

static struct flow_sizes sizes_of(const struct app *app)
{
    const struct line_solver *lines = &adi_program.lines;
    return (struct flow_sizes){
        .points = problem_of(app)->points,
        .equation_values = lines->equation_values,
        .border_values = lines->forward_values > lines->backward_values ? lines->forward_values
                                                                        : lines->backward_values,
    };
}

static uint64_t memory(const struct app *app)
{
    struct flow_sizes sizes = sizes_of(app);
    return flow_memory(&sizes, app->session.ranks);
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct adi_problem *problem = problem_of(app);
    int n = problem->points;
    snprintf(text, capacity, "%d x %d x %d, %d iterations, time step %g", n, n, n,
             problem->iterations, problem->dt);
}

static void create(struct app *app)
{
    struct flow_sizes sizes = sizes_of(app);
    flow_create(&flow, &sizes, problem_of(app)->dt, app->session.rank, app->session.ranks);
}

static void change(change_of_variables *variables)
{
    for (int c = 0; variables != NULL && c < flow.parts.side; c++)
        variables(&flow.parts.cells[c], &flow.fields[c]);
}

static void step(void)
{
    flow_set_rhs(&flow);
    change(adi_program.before);
    for (int axis = 0; axis < AXES; axis++) {
        solve_lines(&flow, axis, &adi_program.lines);
        change(adi_program.after[axis]);
    }
    flow_add(&flow);
}

// A step before the clock runs makes the connections; then the flow is as it begins.
static void prepare(struct app *app)
{
    (void)app;
    flow_set_initial(&flow);
    step();
    flow_set_initial(&flow);
}

static void run(struct app *app)
{
    for (int i = 0; i < problem_of(app)->iterations; i++)
        step();
}

static void verify(struct app *app)
{
    const struct adi_problem *problem = problem_of(app);
    double residual[VARIABLES], error[VARIABLES];
    flow_error_norms(&flow, error);
    flow_residual_norms(&flow, residual);
    expect_norms(app, residual, problem->residual, error, problem->error);
}

static void destroy(struct app *app)
{
    (void)app;
    flow_destroy(&flow);
}

const struct app_kernel app_kernel = {
    .program = &adi_program.program,
    .ranks_needed = ranks_needed,
    .memory = memory,
    .describe = describe,
    .create = create,
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .destroy = destroy,
};
