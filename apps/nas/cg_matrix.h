// The random sparse matrix of CG: RNR-94-007
#ifndef FISHPLATE_APPS_CG_MATRIX_H
#define FISHPLATE_APPS_CG_MATRIX_H

#include "cg_grid.h"

#include <stdint.h>

// By rows; columns count from the first of the block.
struct cg_matrix {
    int rows;
    int *starts; // of each row in what follows, and the end
    int *columns;
    double *values;
};

// The block of these rows and columns of the matrix with n rows, made of n vectors with so
// many random elements each.
void cg_matrix_create(struct cg_matrix *matrix, int n, int nonzeros, double shift,
                      struct range rows, struct range columns);
void cg_matrix_destroy(struct cg_matrix *matrix);

// At most so many bytes while it is made.
uint64_t cg_matrix_memory(int n, int nonzeros, int ranks);

void cg_matrix_multiply(const struct cg_matrix *matrix, const double *by_columns, double *by_rows);

#endif
