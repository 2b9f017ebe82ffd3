// What BT and SP share: steps in time, verification by residuals and errors.
#ifndef FISHPLATE_APPS_ADI_H
#define FISHPLATE_APPS_ADI_H

#include "adi_sweep.h"
#include "nas.h"

// The norms are those of the flow after all iterations.
struct adi_problem {
    int points; // in each dimension
    int iterations;
    double dt;
    double residual[VARIABLES], error[VARIABLES];
};

// Of the right-hand side, in the inner points of a cell.
typedef void change_of_variables(const struct cell *cell, struct fields *fields);

struct adi_program {
    struct program program;
    const struct adi_problem *problems; // NAS_CLASSES of them
    struct line_solver lines;
    // Before the lines of x, and after those of each axis; NULL where the variables stay.
    change_of_variables *before, *after[AXES];
};

// BT or SP.
extern const struct adi_program adi_program;

#endif
