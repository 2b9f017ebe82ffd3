#include "mg_source.h"

#include "buffer.h"
#include "lcg.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { CHARGES = 10 };

// The position of a point is its number in the order of the random numbers: exact in a double, so
// that both travel in one message.
struct candidate {
    double value, position;
};

// Those with the greatest values so far, in descending order.
struct ranking {
    struct candidate best[CHARGES];
};

static struct ranking empty_ranking(void)
{
    struct ranking ranking;
    for (int i = 0; i < CHARGES; i++)
        ranking.best[i] = (struct candidate){-2.0, -1.0};
    return ranking;
}

static void consider(struct ranking *ranking, struct candidate candidate)
{
    int i = CHARGES - 1;
    if (candidate.value <= ranking->best[i].value)
        return;
    for (; i > 0 && candidate.value > ranking->best[i - 1].value; i--)
        ranking->best[i] = ranking->best[i - 1];
    ranking->best[i] = candidate;
}

// Of this rank's points. The smallest are the largest of the negative ones.
static void rank_own(const struct level *level, int log2_points, struct ranking *largest,
                     struct ranking *smallest)
{
    const struct axis *axes = level->axes;
    uint64_t n = UINT64_C(1) << log2_points;
    for (int z = 0; z < axes[Z].points; z++)
        for (int y = 0; y < axes[Y].points; y++) {
            uint64_t row = (uint64_t)(axes[Z].first + z) * n + (uint64_t)(axes[Y].first + y);
            uint64_t position = row * n + (uint64_t)axes[X].first;
            uint64_t random = lcg_jump(LCG_SEED, LCG_A, position);
            for (int x = 0; x < axes[X].points; x++, position++) {
                double value = lcg_next(&random, LCG_A);
                consider(largest, (struct candidate){value, (double)position});
                consider(smallest, (struct candidate){-value, (double)position});
            }
        }
}

static void merge(struct ranking *ranking)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct ranking *all = allocate((size_t)ranks * sizeof *all);
    int count = (int)(sizeof *all / sizeof(double));
    MPI_Allgather(ranking, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD);
    *ranking = empty_ranking();
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < CHARGES; i++)
            consider(ranking, all[rank].best[i]);
    free(all);
}

static void place(const struct level *level, int log2_points, const struct ranking *ranking,
                  double charge, double *source)
{
    uint64_t mask = (UINT64_C(1) << log2_points) - 1;
    for (int i = 0; i < CHARGES; i++) {
        uint64_t position = (uint64_t)ranking->best[i].position;
        int own[DIMENSIONS];
        bool here = true;
        for (int d = X; d < DIMENSIONS; d++, position >>= log2_points) {
            own[d] = (int)(position & mask) - level->axes[d].first + 1;
            here = here && own[d] >= 1 && own[d] <= level->axes[d].points;
        }
        if (here)
            source[level_index(level, own[X], own[Y], own[Z])] = charge;
    }
}

void set_source(const struct level *finest, int log2_points, double *source)
{
    struct ranking largest = empty_ranking(), smallest = empty_ranking();
    rank_own(finest, log2_points, &largest, &smallest);
    merge(&largest);
    merge(&smallest);
    memset(source, 0, level_bytes(finest));
    place(finest, log2_points, &largest, 1.0, source);
    place(finest, log2_points, &smallest, -1.0, source);
}
