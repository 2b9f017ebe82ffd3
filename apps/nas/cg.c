// CG, conjugate gradient: the least eigenvalue of a large sparse matrix by inverse iteration.
// RNR-94-007; the grid of ranks as in NAS-95-020.
#include "cg_grid.h"
#include "cg_matrix.h"
#include "nas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Steps of conjugate gradient for each step of the inverse iteration.
enum { STEPS = 25 };

struct problem {
    int n, nonzeros, iterations;
    double shift, zeta;
};

static const struct problem problems[NAS_CLASSES] = {
    [CLASS_S] = {1400, 7, 15, 10.0, 8.5971775078648},
    [CLASS_W] = {7000, 8, 15, 12.0, 10.362595087124},
    [CLASS_A] = {14000, 11, 15, 20.0, 17.130235054029},
    [CLASS_B] = {75000, 13, 75, 60.0, 22.712745482631},
    [CLASS_C] = {150000, 15, 75, 110.0, 28.973605592845},
};

static const double tolerance = 1e-10;

// Vectors by columns, and w by rows; letters are the paper's.
struct cg {
    const struct problem *problem;
    struct cg_grid grid;
    struct cg_matrix matrix;
    int count; // elements of a vector by columns
    double *x, *z, *r, *p, *q, *w;
    double zeta, residual;
};

static struct cg state;

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct problem *problem = &problems[nas_class(app)];
    snprintf(text, capacity, "%d rows, %d nonzeros in each random vector, %d iterations, shift %g",
             problem->n, problem->nonzeros, problem->iterations, problem->shift);
}

static uint64_t memory(const struct app *app)
{
    const struct problem *problem = &problems[nas_class(app)];
    return cg_matrix_memory(problem->n, problem->nonzeros, app->session.ranks);
}

static void create(struct app *app)
{
    struct cg *cg = &state;
    cg->problem = &problems[nas_class(app)];
    cg_grid_create(&cg->grid, cg->problem->n, app->session.rank, app->session.ranks);
    cg_matrix_create(&cg->matrix, cg->problem->n, cg->problem->nonzeros, cg->problem->shift,
                     cg->grid.matrix_rows, cg->grid.matrix_columns);
    cg->count = cg->grid.matrix_columns.count;
    double **vectors[] = {&cg->x, &cg->z, &cg->r, &cg->p, &cg->q};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = allocate((size_t)cg->count * sizeof(double));
    cg->w = allocate((size_t)cg->grid.matrix_rows.count * sizeof(double));
}

static double dot(const struct cg *cg, const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < cg->count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double global_dot(const struct cg *cg, const double *a, const double *b)
{
    double sum = dot(cg, a, b);
    cg_grid_sum(&cg->grid, &sum, 1);
    return sum;
}

// a = A b
static void multiply(struct cg *cg, double *a, const double *b)
{
    cg_matrix_multiply(&cg->matrix, b, cg->w);
    cg_grid_gather(&cg->grid, cg->w, a);
}

// Solves A z = x, nearly. Returns the norm of what is left, x - A z.
static double solve(struct cg *cg)
{
    double *z = cg->z, *r = cg->r, *p = cg->p, *q = cg->q;
    for (int i = 0; i < cg->count; i++) {
        z[i] = 0.0;
        r[i] = p[i] = cg->x[i];
    }
    double rho = global_dot(cg, r, r);
    for (int step = 0; step < STEPS; step++) {
        multiply(cg, q, p);
        double alpha = rho / global_dot(cg, p, q), before = rho;
        for (int i = 0; i < cg->count; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = global_dot(cg, r, r);
        double beta = rho / before;
        for (int i = 0; i < cg->count; i++)
            p[i] = r[i] + beta * p[i];
    }
    multiply(cg, r, z);
    for (int i = 0; i < cg->count; i++)
        r[i] = cg->x[i] - r[i];
    return sqrt(global_dot(cg, r, r));
}

static void iterate(struct cg *cg)
{
    cg->residual = solve(cg);
    double sums[2] = {dot(cg, cg->x, cg->z), dot(cg, cg->z, cg->z)};
    cg_grid_sum(&cg->grid, sums, 2);
    cg->zeta = cg->problem->shift + 1.0 / sums[0];
    double norm = 1.0 / sqrt(sums[1]);
    for (int i = 0; i < cg->count; i++)
        cg->x[i] = norm * cg->z[i];
}

static void set_ones(struct cg *cg)
{
    for (int i = 0; i < cg->count; i++)
        cg->x[i] = 1.0;
}

// One iteration that does not count, as the specification allows: pages and connections.
static void prepare(struct app *app)
{
    (void)app;
    set_ones(&state);
    iterate(&state);
    set_ones(&state);
}

static void run(struct app *app)
{
    (void)app;
    for (int i = 0; i < state.problem->iterations; i++)
        iterate(&state);
}

static void verify(struct app *app)
{
    app_expect(app, "zeta", state.zeta, state.problem->zeta, tolerance);
}

static void destroy(struct app *app)
{
    (void)app;
    cg_grid_destroy(&state.grid);
    cg_matrix_destroy(&state.matrix);
    double *vectors[] = {state.x, state.z, state.r, state.p, state.q, state.w};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        free(vectors[i]);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "cg",
        .purpose = "NAS CG: an eigenvalue by conjugate gradient; run time in s",
        .takes = NAS_TAKES,
    },
    .ranks_needed = nas_power_of_two,
    .memory = memory,
    .describe = describe,
    .create = create,
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .destroy = destroy,
};
