// The operators of multigrid on one level or between two: RNR-94-007, kernel MG. Each weighs 27
// points by their distance from one: itself, 6 faces, 12 edges, 8 corners.
//
// What is read beside a rank's own points has to be in the outer layers of the arrays.
#ifndef FISHPLATE_APPS_MG_STENCIL_H
#define FISHPLATE_APPS_MG_STENCIL_H

#include "mg_level.h"

// Sums of neighbours along the rows of one level, of which each is used for three points.
struct row_sums {
    double *faces; // of the four rows beside this one
    double *edges; // of the four rows diagonal to it
};

void row_sums_create(struct row_sums *sums, const struct level *finest);
void row_sums_destroy(struct row_sums *sums);

// residual = right - A solution. `right` may be the residual itself.
void subtract_laplacian(const struct level *level, struct row_sums *sums, const double *right);

// solution += S residual. `centre`, `face`, `edge`: the weights of S; corners have none.
struct smoother {
    double centre, face, edge;
};
void smooth(const struct level *level, struct row_sums *sums, const struct smoother *weights);

// coarse residual = P fine residual. For owners of the coarse level.
void restrict_residual(const struct level *fine, const struct level *coarse,
                       struct row_sums *sums);

// fine solution += Q coarse solution, in the outer layers too. `sums` serves as memory.
void add_interpolated(const struct level *coarse, const struct level *fine, struct row_sums *sums);

#endif
