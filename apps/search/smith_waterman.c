#include "smith_waterman.h"

#include "buffer.h" // allocate
#include "gapped.h"

#include <stdlib.h>

static int greater(int a, int b)
{
    return a > b ? a : b;
}

int smith_waterman(const residue *first, int first_length, const residue *second,
                   int second_length)
{
    // Best score that ends at each column of the row before, and with a gap down to this row.
    size_t columns = (size_t)second_length + 1;
    int *best = allocate(columns * sizeof(int)), *down = allocate(columns * sizeof(int));
    for (size_t i = 0; i < columns; i++) {
        best[i] = 0;
        down[i] = -GAP_OPEN;
    }
    int greatest = 0;
    for (int row = 0; row < first_length; row++) {
        int diagonal = 0, along = -GAP_OPEN;
        for (int column = 1; column <= second_length; column++) {
            down[column] = greater(down[column], best[column] - GAP_OPEN) - GAP_EXTEND;
            along = greater(along, best[column - 1] - GAP_OPEN) - GAP_EXTEND;
            int pair = diagonal + blosum62[first[row]][second[column - 1]];
            diagonal = best[column];
            best[column] = greater(greater(pair, 0), greater(down[column], along));
            greatest = greater(greatest, best[column]);
        }
    }
    free(best);
    free(down);
    return greatest;
}
