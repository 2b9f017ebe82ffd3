// Symmetric successive over-relaxation: block triangular systems, lower and upper, each solved in a
// wavefront.
#ifndef FISHPLATE_APPS_LU_SWEEP_H
#define FISHPLATE_APPS_LU_SWEEP_H

#include "lu_grid.h"

// Relaxation.
static const double omega = 1.2;

// Of the implicit system I - dt A, where A is the Jacobian of the differences without dissipation.
struct lu_system {
    double first[AXES], second[AXES]; // omega dt by the spacing, and by its square
    // Of the diagonal block:
    double diagonal, momentum[AXES], energy;
};

void lu_system_create(struct lu_system *system, const struct lu_grid *grid, double step);

// d becomes (D + omega L)^-1 d.
void lu_sweep_forward(const struct lu_system *system, struct lu_grid *grid, const struct cell *u,
                      struct cell *d);
// d becomes (D + omega U)^-1 D d.
void lu_sweep_backward(const struct lu_system *system, struct lu_grid *grid, const struct cell *u,
                       struct cell *d);

#endif
