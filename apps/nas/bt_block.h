// Blocks of 5 x 5 values, one for each pair of variables.
#ifndef FISHPLATE_APPS_BT_BLOCK_H
#define FISHPLATE_APPS_BT_BLOCK_H

#include "adi_sweep.h"

// What a point gives to the equations of a line: to that of the point above it, to its own, to that
// below.
struct point_blocks {
    double to_above[VARIABLES][VARIABLES], own[VARIABLES][VARIABLES],
        to_below[VARIABLES][VARIABLES];
};

void set_point_blocks(const double u[VARIABLES], const struct derived *g, int axis,
                      const struct implicit_step *by, struct point_blocks *blocks);

// An equation solved for its point: x = right - next * x_next. A row has next's five values, then
// right.
enum { ROW = VARIABLES + 1, EQUATION = VARIABLES * ROW };

// Solves the equation of a point among those of the points below and above it. `before` is that of
// the point below, solved; `right` is this one's right side.
void eliminate_block(const struct point_blocks *below, const struct point_blocks *here,
                     const struct point_blocks *above, const double right[VARIABLES],
                     const double before[EQUATION], double solved[EQUATION]);

#endif
