// IS, integer sort: ranks of keys that are nearly Gaussian, by buckets.
// RNR-94-007
#include "is_sort.h"
#include "nas.h"

#include <stdio.h>
#include <stdlib.h>

struct is {
    struct is_sort sort;
    int right; // ranks of tested keys, found by this rank
};

static struct is state;

static const struct is_problem *problem_of(const struct app *app)
{
    return &is_problems[nas_class(app)];
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct is_problem *problem = problem_of(app);
    snprintf(text, capacity, "2^%d keys below 2^%d, %d iterations", problem->log2_keys,
             problem->log2_range, IS_ITERATIONS);
}

// More ranks than buckets would leave some without keys. The number differs by class.
static const char *ranks_needed(const struct app *app)
{
    static char text[64];
    int most = 1 << problem_of(app)->log2_buckets;
    snprintf(text, sizeof text, "at most %d ranks for this class", most);
    return app->session.ranks <= most ? NULL : text;
}

static uint64_t memory(const struct app *app)
{
    const struct is_problem *problem = problem_of(app);
    // Keys, the same in buckets and as received, and a count for each value.
    uint64_t numbers = (UINT64_C(3) << problem->log2_keys) + (UINT64_C(1) << problem->log2_range);
    return numbers * sizeof(int32_t) / (uint64_t)app->session.ranks;
}

static void create(struct app *app)
{
    is_sort_create(&state.sort, problem_of(app), app->session.rank, app->session.ranks);
}

// A key is the mean of four random numbers, times the range.
static void make_keys(struct is_sort *sort)
{
    double quarter = (double)(1 << sort->problem->log2_range) / 4.0;
    uint64_t x = lcg_jump(LCG_SEED, LCG_A, 4 * (uint64_t)sort->first);
    for (int i = 0; i < sort->count; i++) {
        double sum = 0.0;
        for (int k = 0; k < 4; k++)
            sum += lcg_next(&x, LCG_A);
        sort->keys[i] = (int32_t)(quarter * sum);
    }
}

// Two keys differ in each iteration; rank 0 has them, which no class gives fewer than 128 keys.
static void change_keys(struct is_sort *sort, int iteration)
{
    if (sort->rank != 0)
        return;
    sort->keys[iteration] = iteration;
    sort->keys[iteration + IS_ITERATIONS] = (1 << sort->problem->log2_range) - iteration;
}

static int count_right(const struct is_sort *sort, int iteration)
{
    int right = 0;
    for (int i = 0; i < IS_TESTS; i++) {
        int32_t key = sort->all_counts[sort->buckets + i];
        if (key >= sort->least_key && key < sort->least_key + sort->range)
            right += is_sort_rank_of(sort, key)
                == is_expected_rank(&sort->problem->tests[i], iteration);
    }
    return right;
}

// One iteration that does not count: pages and connections.
static void prepare(struct app *app)
{
    (void)app;
    make_keys(&state.sort);
    change_keys(&state.sort, 1);
    is_sort_run(&state.sort);
}

static void run(struct app *app)
{
    (void)app;
    state.right = 0;
    for (int iteration = 1; iteration <= IS_ITERATIONS; iteration++) {
        change_keys(&state.sort, iteration);
        is_sort_run(&state.sort);
        state.right += count_right(&state.sort, iteration);
    }
}

// Places the received keys by their ranks; false unless that puts them in order. It uses the
// ranks up.
static bool sorted_here(struct is_sort *sort, int32_t *sorted)
{
    for (int i = 0; i < sort->received_count; i++)
        sorted[--sort->ends[sort->received[i] - sort->least_key]] = sort->received[i];
    for (int i = 1; i < sort->received_count; i++)
        if (sorted[i - 1] > sorted[i])
            return false;
    return true;
}

static int64_t sum_of(const int32_t *keys, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += keys[i];
    return sum;
}

static void verify(struct app *app)
{
    struct is_sort *sort = &state.sort;
    int right;
    MPI_Allreduce(&state.right, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    app_expect(app, "published ranks", right, IS_ITERATIONS * IS_TESTS, 0.0);

    int count = sort->received_count;
    int32_t *sorted = allocate((size_t)count * sizeof(int32_t));
    app_expect_true(app, "sorted", sorted_here(sort, sorted));
    // Ranks without keys stand between none.
    int32_t last = count > 0 ? sorted[count - 1] : -1, before = -1;
    MPI_Exscan(&last, &before, 1, MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD);
    if (app->session.rank == 0)
        before = -1;
    app_expect_true(app, "sorted over ranks", count == 0 || before <= sorted[0]);
    // None lost, none changed, as far as number and sum tell.
    int64_t sums[2] = {sort->count - count,
                       sum_of(sort->keys, sort->count) - sum_of(sorted, count)};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    app_expect_true(app, "the same keys", sums[0] == 0 && sums[1] == 0);
    free(sorted);
}

static void destroy(struct app *app)
{
    (void)app;
    is_sort_destroy(&state.sort);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "is",
        .purpose = "NAS IS: integers sorted by buckets; run time in s",
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
