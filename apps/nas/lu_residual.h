// How far a flow is from steady: central differences of second order, dissipation of fourth.
#ifndef FISHPLATE_APPS_LU_RESIDUAL_H
#define FISHPLATE_APPS_LU_RESIDUAL_H

#include "lu_grid.h"

struct lu_residual {
    struct cell *convected, *diffusing; // of a plane
    struct cell *forcing; // what holds the exact solution steady
};

void lu_residual_create(struct lu_residual *work, const struct lu_grid *grid);
void lu_residual_destroy(struct lu_residual *work);

// The forcing is minus what the differences make of the exact solution, ghosts included.
void lu_set_forcing(struct lu_residual *work, const struct lu_grid *grid, const struct cell *exact);

// Sets `residual` at the points inside the cube. The ghosts of u must be the neighbours' points.
void lu_set_residual(struct lu_residual *work, const struct lu_grid *grid, const struct cell *u,
                     struct cell *residual);

#endif
