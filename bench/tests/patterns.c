#include "patterns.h"

#include "clock.h"
#include "compute.h"
#include "expect.h"

#include "../programs/by_host.h"
#include "../programs/neighbours.h"

#include <stdbool.h>

enum { MOST_RANKS = 24 };

// Whether each message that a rank sends is received by whom it goes to, from that rank.
static bool fit_together(struct neighbour (*all)[MAX_NEIGHBOURS], int ranks, int count)
{
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < count; i++) {
            const struct neighbour *sent = &all[rank][i];
            if (sent->rank == rank || sent->rank < 0 || sent->rank >= ranks)
                return false;
            int receives = 0;
            for (int j = 0; j < count; j++)
                receives += all[sent->rank][j].rank == rank
                    && all[sent->rank][j].receives == sent->sends;
            if (receives != 1)
                return false;
        }
    return true;
}

static void test_grids(void)
{
    static const struct {
        int dimensions, extents[MAX_DIMENSIONS], count;
    } grids[] = {{1, {2}, 2},       {1, {5}, 2},       {2, {2, 1}, 2},    {2, {3, 2}, 4},
                 {3, {2, 1, 1}, 2}, {3, {2, 2, 2}, 6}, {3, {4, 3, 2}, 6}, {1, {1}, 0}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct neighbour all[MOST_RANKS][MAX_NEIGHBOURS];
        int ranks = 1, dimensions = grids[i].dimensions;
        for (int d = 0; d < dimensions; d++)
            ranks *= grids[i].extents[d];
        for (int rank = 0; rank < ranks; rank++)
            EXPECT(neighbours_in_grid(rank, grids[i].extents, dimensions, all[rank])
                   == grids[i].count);
        EXPECT(fit_together(all, ranks, grids[i].count));
    }
    // Rank 1 of 4 x 3 x 2 is at (0, 0, 1): its neighbours are one step away in each dimension.
    struct neighbour around[MAX_NEIGHBOURS];
    const int extents[] = {4, 3, 2}, expected[] = {0, 0, 5, 3, 19, 7};
    neighbours_in_grid(1, extents, 3, around);
    for (int i = 0; i < 6; i++)
        EXPECT(around[i].rank == expected[i]);
}

static void test_pairs(void)
{
    for (int ranks = 2; ranks <= MOST_RANKS; ranks += 2)
        for (int count = 1; count <= MAX_NEIGHBOURS; count++) {
            struct neighbour all[MOST_RANKS][MAX_NEIGHBOURS];
            for (int rank = 0; rank < ranks; rank++)
                neighbours_in_pairs(rank, ranks, count, all[rank]);
            EXPECT(all[0][0].rank == ranks - 1 && fit_together(all, ranks, count));
        }
}

static void test_compute(void)
{
    struct options options = {.compute = 2000, .imbalance = 1000, .seed = 1};
    struct compute one = compute_create(&options, 0), other = compute_create(&options, 1);
    double sum = 0.0;
    bool differ = false, within = true;
    for (int i = 0; i < 1000; i++) {
        double seconds = compute_next(&one);
        sum += seconds;
        within = within && seconds >= 0.002 && seconds < 0.003;
        differ = differ || seconds != compute_next(&other);
    }
    EXPECT(within && differ && sum > 2.45 && sum < 2.55);

    options.imbalance = 0;
    for (int by = COMPUTE_BY_SPIN; by <= COMPUTE_BY_SLEEP; by++) {
        options.compute_by = by;
        one = compute_create(&options, 0);
        EXPECT(near(compute_next(&one), 0.002));
        double start = clock_seconds();
        compute_run(&one, compute_next(&one));
        EXPECT(clock_seconds() - start >= 0.002);
    }
}

static void test_order_of_hosts(void)
{
    static const struct {
        int first[6], expected[6];
    } cases[] = {{{0, 1, 0, 1, 0, 1}, {0, 2, 4, 1, 3, 5}},
                 {{0, 0, 0, 3, 3, 3}, {0, 1, 2, 3, 4, 5}},
                 {{0, 1, 1, 0, 4, 1}, {0, 3, 1, 2, 5, 4}},
                 {{0, 0, 0, 0, 0, 0}, {0, 1, 2, 3, 4, 5}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int in_order[6];
        by_host(cases[i].first, 6, in_order);
        for (int place = 0; place < 6; place++)
            EXPECT(in_order[place] == cases[i].expected[place]);
    }
}

void test_patterns(void)
{
    test_order_of_hosts();
    test_grids();
    test_pairs();
    test_compute();
}
