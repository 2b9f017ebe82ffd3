// MG: multigrid V-cycles for Poisson's equation on a periodic cube.
// RNR-94-007, kernel MG; its decomposition and exchange of faces: NAS-95-020.
#include "halo.h"
#include "mg_level.h"
#include "mg_source.h"
#include "mg_stencil.h"
#include "nas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem {
    int log2_points; // in each dimension
    int iterations;
    struct smoother smoother;
    double norm; // of the residual in the end
};

// RNR-94-007 has the first smoother for its small problem and class A, the second for class B.
#define SMALL_SMOOTHER {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0}
#define LARGE_SMOOTHER {-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0}

// 02-007, and what has been published with the reference implementation.
static const struct problem problems[NAS_CLASSES] = {
    [CLASS_S] = {5, 4, SMALL_SMOOTHER, 0.5307707005734e-4},
    [CLASS_W] = {7, 4, SMALL_SMOOTHER, 0.6467329375339e-5},
    [CLASS_A] = {8, 4, SMALL_SMOOTHER, 0.2433365309069e-5},
    [CLASS_B] = {8, 20, LARGE_SMOOTHER, 0.1800564401355e-5},
    [CLASS_C] = {9, 20, LARGE_SMOOTHER, 0.5706732285740e-6},
};

// Level l has 2^l points in each dimension; the coarsest is 1.
enum { COARSEST = 1, MAX_LEVELS = 10 };

struct mg {
    const struct problem *problem;
    struct level levels[MAX_LEVELS];
    int finest; // index of it
    double *source; // the right-hand side, on the finest level
    struct halo halo;
    struct row_sums sums;
    double norm;
};

static struct mg state;

static void create(struct app *app)
{
    struct mg *mg = &state;
    mg->problem = &problems[nas_class(app)];
    mg->finest = mg->problem->log2_points;
    struct rank_grid grid = rank_grid(app->session.rank, app->session.ranks);
    for (int l = COARSEST; l <= mg->finest; l++)
        level_create(&mg->levels[l], &grid, l, l == mg->finest);
    const struct level *finest = &mg->levels[mg->finest];
    halo_create(&mg->halo, finest);
    row_sums_create(&mg->sums, finest);
    mg->source = allocate(level_bytes(finest));
    set_source(finest, mg->finest, mg->source);
}

static void smooth_level(struct mg *mg, int l)
{
    smooth(&mg->levels[l], &mg->sums, &mg->problem->smoother);
    halo_exchange(&mg->halo, &mg->levels[l], mg->levels[l].solution);
}

static void set_residual(struct mg *mg, int l, const double *right)
{
    subtract_laplacian(&mg->levels[l], &mg->sums, right);
    halo_exchange(&mg->halo, &mg->levels[l], mg->levels[l].residual);
}

// Residuals of the coarser levels. A rank is done when it has no points of a level.
static void descend(struct mg *mg)
{
    for (int l = mg->finest - 1; l >= COARSEST && mg->levels[l].owner; l--) {
        restrict_residual(&mg->levels[l + 1], &mg->levels[l], &mg->sums);
        halo_exchange(&mg->halo, &mg->levels[l], mg->levels[l].residual);
    }
}

// Corrects level l by the solution of the one below it.
static void ascend_to(struct mg *mg, int l)
{
    struct level *level = &mg->levels[l];
    if (!level->owner)
        return;
    if (l < mg->finest)
        memset(level->solution, 0, level_bytes(level));
    if (l > COARSEST) {
        halo_lend(&mg->halo, &mg->levels[l - 1], mg->levels[l - 1].solution);
        add_interpolated(&mg->levels[l - 1], level, &mg->sums);
        set_residual(mg, l, l == mg->finest ? mg->source : level->residual);
    }
    smooth_level(mg, l);
}

static void v_cycle(struct mg *mg)
{
    descend(mg);
    for (int l = COARSEST; l <= mg->finest; l++)
        ascend_to(mg, l);
    set_residual(mg, mg->finest, mg->source);
}

// Of the residual on the finest level: the root of the mean square.
static double residual_norm(const struct mg *mg)
{
    const struct level *level = &mg->levels[mg->finest];
    double sum = 0.0;
    for (int z = 1; z <= level->axes[Z].points; z++)
        for (int y = 1; y <= level->axes[Y].points; y++) {
            const double *r = level->residual + level_index(level, 0, y, z);
            for (int x = 1; x <= level->axes[X].points; x++)
                sum += r[x] * r[x];
        }
    comm_allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(ldexp(sum, -3 * mg->finest));
}

// A cycle before the clock runs makes the connections; then the solution is zero, as it begins.
static void prepare(struct app *app)
{
    (void)app;
    struct level *finest = &state.levels[state.finest];
    memset(finest->solution, 0, level_bytes(finest));
    set_residual(&state, state.finest, state.source);
    v_cycle(&state);
    memset(finest->solution, 0, level_bytes(finest));
}

static void run(struct app *app)
{
    (void)app;
    set_residual(&state, state.finest, state.source);
    for (int i = 0; i < state.problem->iterations; i++)
        v_cycle(&state);
    state.norm = residual_norm(&state);
}

static void verify(struct app *app)
{
    app_expect(app, "norm of the residual", state.norm, state.problem->norm, 1e-8);
}

static void destroy(struct app *app)
{
    (void)app;
    for (int l = COARSEST; l <= state.finest; l++)
        level_destroy(&state.levels[l]);
    halo_destroy(&state.halo);
    row_sums_destroy(&state.sums);
    free(state.source);
}

static const char *ranks_needed(const struct app *app)
{
    // Two points in each dimension.
    int most = 1 << 3 * (problems[nas_class(app)].log2_points - 1);
    return nas_power_of_two_up_to(app, most);
}

static uint64_t memory(const struct app *app)
{
    uint64_t points = UINT64_C(1) << 3 * problems[nas_class(app)].log2_points;
    // Three arrays, and two on all coarser levels, which have a seventh of the points together.
    return sizeof(double) * points * 23 / 7 / (uint64_t)app->session.ranks;
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct problem *problem = &problems[nas_class(app)];
    int n = 1 << problem->log2_points;
    snprintf(text, capacity, "%d x %d x %d, %d iterations", n, n, n, problem->iterations);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "mg",
        .purpose = "NAS MG: multigrid, faces exchanged on all levels; run time in s",
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
