// The exact solution of LU, the flow that it begins with, and what is measured of a flow.
#ifndef FISHPLATE_APPS_LU_SOLUTION_H
#define FISHPLATE_APPS_LU_SOLUTION_H

#include "lu_grid.h"

// At all points, and at the ghosts across x and y.
void lu_set_exact(const struct lu_grid *grid, struct cell *u);

// The exact solution on the boundary of the cube; inside, what is interpolated from there.
void lu_set_initial(const struct lu_grid *grid, struct cell *u);

// Roots of the mean squares over the points inside the cube, of each value. All ranks get them.
void lu_norms(const struct lu_grid *grid, const struct cell *cells, double norms[VARIABLES]);
void lu_error_norms(const struct lu_grid *grid, const struct cell *u, double norms[VARIABLES]);

// Of the pressure over the faces of a box within the cube.
double lu_surface_integral(const struct lu_grid *grid, const struct cell *u);

#endif
