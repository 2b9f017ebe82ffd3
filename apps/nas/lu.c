// LU: a steady flow of the compressible Navier-Stokes equations, by symmetric successive
// over-relaxation. RNR-94-007; the wavefront of its triangular systems as in
// NAS-95-020.
#include "lu_grid.h"
#include "lu_residual.h"
#include "lu_solution.h"
#include "lu_sweep.h"
#include "nas.h"

#include <stdio.h>
#include <stdlib.h>

struct problem {
    int points; // in each dimension
    int iterations;
    double step;
    // Norms in the end, and the integral.
    double residual[VARIABLES], error[VARIABLES], surface;
};

// As published with the reference implementation.
static const struct problem problems[NAS_CLASSES] = {
    [CLASS_S] = {12, 50, 0.5,
                 {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03,
                  1.5029584435994323e-03, 3.4264073155896461e-02},
                 {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05,
                  5.8474222595157350e-05, 1.3103347914111294e-03},
                 7.8418928865937083},
    [CLASS_W] = {33, 300, 1.5e-3,
                 {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01,
                  0.2326187750252e+01, 0.2826799444189e+02},
                 {0.4867877144216, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01,
                  0.1084277417792e+01},
                 0.1161399311023e+02},
    [CLASS_A] = {64, 250, 2.0,
                 {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02,
                  1.7845301160418537e+02, 1.8384760349464247e+03},
                 {2.9964085685471943e+01, 2.8194576365003349, 7.3473412698774742,
                  6.7139225687777051, 7.0715315688392578e+01},
                 2.6030925604886277e+01},
    [CLASS_B] = {102, 250, 2.0,
                 {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02,
                  7.7812774739425265e+02, 7.3087969592545314e+03},
                 {1.1401176380212709e+02, 8.1098963655421574, 2.8480597317698308e+01,
                  2.5905394567832939e+01, 2.6054907504857413e+02},
                 4.7887162703308227e+01},
    [CLASS_C] = {162, 250, 2.0,
                 {1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03,
                  2.19194343857831427e+03, 1.78078057261061185e+04},
                 {2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01,
                  4.82262643154045421e+01, 4.55902910043250358e+02},
                 6.66404553572181300e+01},
};

struct lu {
    const struct problem *problem;
    struct lu_grid grid;
    struct lu_residual work;
    struct lu_system system;
    struct cell *u; // the flow
    struct cell *d; // its residual, then how it changes
    double residual[VARIABLES];
};

static struct lu state;

static void create(struct app *app)
{
    struct lu *lu = &state;
    lu->problem = &problems[nas_class(app)];
    lu_grid_create(&lu->grid, lu->problem->points, app->session.rank, app->session.ranks);
    lu_residual_create(&lu->work, &lu->grid);
    lu_system_create(&lu->system, &lu->grid, lu->problem->step);
    lu->u = lu_grid_allocate(&lu->grid);
    lu->d = lu_grid_allocate(&lu->grid);
    lu_set_exact(&lu->grid, lu->u);
    lu_set_forcing(&lu->work, &lu->grid, lu->u);
}

static void set_residual(struct lu *lu)
{
    lu_grid_exchange(&lu->grid, lu->u);
    lu_set_residual(&lu->work, &lu->grid, lu->u, lu->d);
}

// At the points inside the cube, adds `factor` times `from` to `to`, or sets it to that.
static void scale(struct lu *lu, double factor, const struct cell *from, struct cell *to, bool add)
{
    const struct lu_axis *axes = lu->grid.axes;
    for (int z = axes[Z].begin; z < axes[Z].end; z++)
        for (int y = axes[Y].begin; y < axes[Y].end; y++) {
            size_t at = lu_index(&lu->grid, 0, y, z);
            for (int x = axes[X].begin; x < axes[X].end; x++)
                for (int m = 0; m < VARIABLES; m++) {
                    double value = factor * from[at + (size_t)x].v[m];
                    to[at + (size_t)x].v[m] = add ? to[at + (size_t)x].v[m] + value : value;
                }
        }
}

static void iterate(struct lu *lu)
{
    scale(lu, lu->problem->step, lu->d, lu->d, false);
    lu_sweep_forward(&lu->system, &lu->grid, lu->u, lu->d);
    lu_sweep_backward(&lu->system, &lu->grid, lu->u, lu->d);
    scale(lu, 1.0 / (omega * (2.0 - omega)), lu->d, lu->u, true);
    set_residual(lu);
}

static void begin(struct lu *lu)
{
    lu_set_initial(&lu->grid, lu->u);
    set_residual(lu);
}

// An iteration that does not count makes the connections.
static void prepare(struct app *app)
{
    (void)app;
    begin(&state);
    iterate(&state);
    begin(&state);
}

static void run(struct app *app)
{
    (void)app;
    for (int i = 0; i < state.problem->iterations; i++)
        iterate(&state);
    lu_norms(&state.grid, state.d, state.residual);
}

static void verify(struct app *app)
{
    const struct problem *problem = state.problem;
    double error[VARIABLES];
    lu_error_norms(&state.grid, state.u, error);
    expect_norms(app, state.residual, problem->residual, error, problem->error);
    app_expect(app, "surface integral", lu_surface_integral(&state.grid, state.u), problem->surface,
               TOLERANCE);
}

static void destroy(struct app *app)
{
    (void)app;
    free(state.u);
    free(state.d);
    lu_residual_destroy(&state.work);
    lu_grid_destroy(&state.grid);
}

static const char *ranks_needed(const struct app *app)
{
    // A neighbour's points fill the ghosts.
    int most = 1, points = problems[nas_class(app)].points;
    while (2 * GHOSTS * most <= points)
        most *= 2;
    return nas_power_of_two_up_to(app, most * most);
}

static uint64_t memory(const struct app *app)
{
    int extents[2];
    lu_rank_extents(app->session.ranks, extents);
    uint64_t total = (uint64_t)problems[nas_class(app)].points, ghosts = 2 * GHOSTS;
    uint64_t x = total / (uint64_t)extents[X] + 1 + ghosts;
    uint64_t y = total / (uint64_t)extents[Y] + 1 + ghosts, z = total + ghosts;
    // The flow, its residual and the forcing, which is made in a fourth; planes; faces.
    return sizeof(struct cell) * (4 * x * y * z + 2 * x * z + 4 * GHOSTS * z * (x > y ? x : y));
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct problem *problem = &problems[nas_class(app)];
    int n = problem->points;
    snprintf(text, capacity, "%d x %d x %d, %d iterations, time step %g", n, n, n,
             problem->iterations, problem->step);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "lu",
        .purpose = "NAS LU: a steady flow, solved in wavefronts; run time in s",
        .takes = NAS_TAKES,
    },
    .ranks_needed = ranks_needed,
    .memory = memory,
    .describe = describe,
    .create = create,
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .destroy = destroy,
};
