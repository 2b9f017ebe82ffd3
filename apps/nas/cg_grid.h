// The ranks of CG as a grid, a block of the matrix for each, and how its vectors travel.
//
// A vector is held by columns: each rank has the part that meets its block, and the ranks of
// a grid row have it all. A product comes out by rows, in parts over the ranks of a grid row.
#ifndef FISHPLATE_APPS_CG_GRID_H
#define FISHPLATE_APPS_CG_GRID_H

// A range of rows or columns of the matrix.
struct range {
    int first, count;
};

struct cg_grid {
    int columns; // of the grid: as many as its rows, or twice as many
    int column; // of this rank
    int rank;
    struct range matrix_rows, matrix_columns; // of this rank's block
    struct range halves[2]; // of the rows, where the grid has twice as many columns; else all
    int half; // the one that this rank sums
    int opposite; // the rank that needs it, and has the sums that this one needs
    double *incoming; // of matrix_rows.count
};

// For n rows and a power of two of ranks.
void cg_grid_create(struct cg_grid *grid, int n, int rank, int ranks);
void cg_grid_destroy(struct cg_grid *grid);

// From parts by rows (which it changes) to the whole by columns.
void cg_grid_gather(const struct cg_grid *grid, double *by_rows, double *by_columns);

// Sums numbers, at most two, over the ranks of a grid row.
void cg_grid_sum(const struct cg_grid *grid, double *numbers, int count);

#endif
