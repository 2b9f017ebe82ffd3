// EP, embarrassingly parallel: pairs of Gaussian deviates, counted by square annuli.
// RNR-94-007
#include "nas.h"

#include <math.h>
#include <stdio.h>

enum { ANNULI = 10 };

// Of a pair that lies in the unit circle t <= 1 there are two deviates.
#define EP_SEED UINT64_C(271828183)

struct problem {
    int log2_pairs;
    double x_sum, y_sum;
};

// 02-007, and what has been published with the reference implementation.
static const struct problem problems[NAS_CLASSES] = {
    [CLASS_S] = {24, -3.247834652034740e+3, -6.958407078382297e+3},
    [CLASS_W] = {25, -2.863319731645753e+3, -6.320053679109499e+3},
    [CLASS_A] = {28, -4.295875165629892e+3, -1.580732573678431e+4},
    [CLASS_B] = {30, 4.033815542441498e+4, -2.660669192809235e+4},
    [CLASS_C] = {32, 4.764367927995374e+4, -8.084072988043731e+4},
};

static const double tolerance = 1e-8;

struct ep {
    const struct problem *problem;
    uint64_t first, pairs; // this rank's
    double sums[2]; // of x and y
    double counts[ANNULI];
};

static struct ep state;

static void create(struct app *app)
{
    state.problem = &problems[nas_class(app)];
    uint64_t all = UINT64_C(1) << state.problem->log2_pairs;
    uint64_t rank = (uint64_t)app->session.rank, ranks = (uint64_t)app->session.ranks;
    // Any number of ranks: the first ones have one pair more.
    uint64_t each = all / ranks, more = all % ranks;
    state.first = rank * each + (rank < more ? rank : more);
    state.pairs = each + (rank < more ? 1 : 0);
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    snprintf(text, capacity, "2^%d pairs", problems[nas_class(app)].log2_pairs);
}

// Numbers made ahead of their use, as many as stay in a cache.
enum { BATCH = 4096 };

static void tally(struct ep *ep, const double *numbers, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        double x = 2.0 * numbers[2 * i] - 1.0, y = 2.0 * numbers[2 * i + 1] - 1.0;
        double t = x * x + y * y;
        if (t > 1.0)
            continue;
        double scale = sqrt(-2.0 * log(t) / t);
        double gaussian_x = x * scale, gaussian_y = y * scale;
        ep->counts[(int)fmax(fabs(gaussian_x), fabs(gaussian_y))] += 1.0;
        ep->sums[0] += gaussian_x;
        ep->sums[1] += gaussian_y;
    }
}

static void run(struct app *app)
{
    (void)app;
    double numbers[2 * BATCH];
    uint64_t x = lcg_jump(EP_SEED, LCG_A, 2 * state.first);
    for (int i = 0; i < ANNULI; i++)
        state.counts[i] = 0.0;
    state.sums[0] = state.sums[1] = 0.0;
    for (uint64_t done = 0; done < state.pairs;) {
        int pairs = state.pairs - done < BATCH ? (int)(state.pairs - done) : BATCH;
        for (int i = 0; i < 2 * pairs; i++)
            numbers[i] = lcg_next(&x, LCG_A);
        tally(&state, numbers, pairs);
        done += (uint64_t)pairs;
    }
    comm_allreduce(MPI_IN_PLACE, state.sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    comm_allreduce(MPI_IN_PLACE, state.counts, ANNULI, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void verify(struct app *app)
{
    app_expect(app, "sum of x", state.sums[0], state.problem->x_sum, tolerance);
    app_expect(app, "sum of y", state.sums[1], state.problem->y_sum, tolerance);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "ep",
        .purpose = "NAS EP: Gaussian deviates by the polar method; run time in s",
        .takes = NAS_TAKES,
    },
    .describe = describe,
    .create = create,
    .run = run,
    .verify = verify,
};
