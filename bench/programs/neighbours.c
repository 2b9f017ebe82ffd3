#include "neighbours.h"

int neighbours_in_grid(int rank, const int *extents, int dimensions,
                       struct neighbour neighbours[MAX_NEIGHBOURS])
{
    int count = 0, stride = 1;
    // The last coordinate varies first.
    for (int dimension = dimensions - 1; dimension >= 0; dimension--) {
        int extent = extents[dimension], place = rank / stride % extent, row = rank - place * stride;
        int below = row + (place + extent - 1) % extent * stride;
        int above = row + (place + 1) % extent * stride;
        int down = 2 * dimension, up = down + 1;
        stride *= extent;
        if (extent == 1)
            continue;
        neighbours[count++] = (struct neighbour){below, down, up};
        neighbours[count++] = (struct neighbour){above, up, down};
    }
    return count;
}

void neighbours_in_pairs(int rank, int ranks, int count,
                         struct neighbour neighbours[MAX_NEIGHBOURS])
{
    for (int i = 0; i < count; i++) {
        // Odd, as the number of ranks is even, and twice a rank is not.
        int sum = ranks - 1 - 2 * i;
        int partner = ((sum - rank) % ranks + ranks) % ranks;
        neighbours[i] = (struct neighbour){partner, i, i};
    }
}
