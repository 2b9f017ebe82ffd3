// What LU, BT and SP share: compressible flow in a cube, with a forcing that makes a given polynomial its
// solution. RNR-94-007; names of constants are its own.
#ifndef FISHPLATE_APPS_CFD_H
#define FISHPLATE_APPS_CFD_H

#include "nas.h"

// Values of a point: density, momentum in each dimension, total energy.
enum { AXES = 3, VARIABLES = 5 };

static const double C1 = 1.4, C2 = 0.4, C1C5 = 1.4 * 1.4, C3C4 = 0.1;
// Diffusion d in each dimension, the same for all variables; epsilon of the fourth-order dissipation, a
// quarter of the greatest.
static const double DIFFUSION[AXES] = {0.75, 0.75, 1.0};
static const double DISSIPATION = 0.25;

// To which results are held against the published ones, relative.
static const double TOLERANCE = 1e-8;

// The cube is [0, 1] in each dimension.
void exact_solution(const double position[AXES], double u[VARIABLES]);

// What the flow begins with: interpolated from the exact values on the faces.
void transfinite(const double position[AXES], double u[VARIABLES]);

// Holds the norms of the residual and of the error against the published ones.
void expect_norms(struct app *app, const double residual[VARIABLES],
                  const double published_residual[VARIABLES], const double error[VARIABLES],
                  const double published_error[VARIABLES]);

#endif
