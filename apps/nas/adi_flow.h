// The flow of BT and SP, in cells.
#ifndef FISHPLATE_APPS_ADI_FLOW_H
#define FISHPLATE_APPS_ADI_FLOW_H

#include "cfd.h"
#include "multipartition.h"

#include <stdint.h>

// What follows from the five variables, at each point.
struct derived {
    double inverse; // 1 / density
    double velocity[AXES];
    double kinetic; // energy of motion by volume
    double specific; // and by mass
    double sound; // its speed
};

// Arrays of one cell, with ghosts.
struct fields {
    double *u, *rhs, *forcing; // VARIABLES a point: density, momenta, energy
    struct derived *derived;
    double *equations; // of each line, in turn for each axis
    double (*dissipation[AXES])[5]; // coefficients for each inner point of an axis
};

struct flow {
    double dt;
    struct multipartition parts;
    struct fields fields[MAX_CELLS];
    double *u[MAX_CELLS]; // of the cells, for the exchange
};

// `equation_values` are stored for each point, `border_values` the most that a sweep sends of one
// line.
struct flow_sizes {
    int points; // in each dimension
    int equation_values, border_values;
};

void flow_create(struct flow *flow, const struct flow_sizes *sizes, double dt, int rank, int ranks);
void flow_destroy(struct flow *flow);
// What a rank allocates.
uint64_t flow_memory(const struct flow_sizes *sizes, int ranks);

// From the values on the faces by transfinite interpolation.
void flow_set_initial(struct flow *flow);

// dt (forcing - fluxes and dissipation), in inner points. Exchanges ghosts.
void flow_set_rhs(struct flow *flow);

// u += rhs, in inner points.
void flow_add(struct flow *flow);

// Root of the mean square over the inner points, of all ranks: of the right-hand side by dt, of the
// error.
void flow_residual_norms(struct flow *flow, double norms[VARIABLES]);
void flow_error_norms(struct flow *flow, double norms[VARIABLES]);

// The part of it that is in a file of its own.
void cell_set_rhs(const struct cell *cell, struct fields *fields, int points, double dt);

#endif
