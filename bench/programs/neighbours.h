// Whom a rank exchanges messages with.
#ifndef FISHPLATE_BENCH_NEIGHBOURS_H
#define FISHPLATE_BENCH_NEIGHBOURS_H

// Two in each dimension.
enum { MAX_DIMENSIONS = 3, MAX_NEIGHBOURS = 2 * MAX_DIMENSIONS };

// A message to a rank and one from there. Tags tell messages between the same two apart.
struct neighbour {
    int rank;
    int sends, receives; // tags, below MAX_NEIGHBOURS
};

// In a periodic grid of so many ranks in each dimension, numbered as MPI numbers them: both sides
// of each dimension, which are one rank where there are two. A dimension of one rank has none.
// Returns how many.
int neighbours_in_grid(int rank, const int *extents, int dimensions,
                       struct neighbour neighbours[MAX_NEIGHBOURS]);

// In pairs, for an even number of ranks: the first message is between r and n-1-r, further ones
// between r and n-3-r, n-5-r and so on, modulo n. Nobody's partner is itself.
void neighbours_in_pairs(int rank, int ranks, int count,
                         struct neighbour neighbours[MAX_NEIGHBOURS]);

#endif
