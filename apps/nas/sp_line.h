// Pentadiagonal equations along a line: one system for the waves that move with the flow, one each
// for sound.
#ifndef FISHPLATE_APPS_SP_LINE_H
#define FISHPLATE_APPS_SP_LINE_H

#include "adi_sweep.h"

// A point's equations, solved for it: x = right - next * x_next - second * x_second. Next and
// second of each system, then the right sides of the variables.
enum { SYSTEMS = 3, EQUATION = 2 * SYSTEMS + VARIABLES };

// Values of a line that go from cell to cell: the equations, or the solution, of the two points
// nearest.
enum { FORWARD_BORDER = 2 * EQUATION, BACKWARD_BORDER = 2 * VARIABLES };

// From the first point to the last. The border is the equations of the two points before, then the
// last two.
void eliminate_line(const struct line *line);

// From the last point to the first. The border is the solution in the two points after, the second
// of them first, then in the first two.
void substitute_line(const struct line *line);

#endif
