// Systems along the lines of an axis, solved by sweeps through the cells: elimination upward,
// substitution downward.
#ifndef FISHPLATE_APPS_ADI_SWEEP_H
#define FISHPLATE_APPS_ADI_SWEEP_H

#include "adi_flow.h"

// Steps by which fluxes, viscous terms and dissipation count on the implicit side.
struct implicit_step {
    double flux; // dt / (2 h)
    double viscous; // dt / h^2
    double dissipation; // dt epsilon
};

// The inner points of a cell in one line.
struct line {
    struct fields *fields;
    int axis, length;
    ptrdiff_t start, stride; // index of the first point, and from each to the next
    const struct implicit_step *by;
    const double (*dissipation)[5]; // of each point
    double *equations; // what elimination leaves to substitution; equation_values for each point
    double *border; // in: what the cell before left, zeros at the boundary; out: for the next cell
};

struct line_solver {
    int equation_values;
    int forward_values, backward_values; // of a border
    void (*eliminate)(const struct line *line); // takes the right-hand side
    void (*substitute)(const struct line *line); // sets the solution in its place
};

void solve_lines(struct flow *flow, int axis, const struct line_solver *solver);

#endif
