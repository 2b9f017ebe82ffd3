// A picture by one rank alone, of all blocks, with nothing left out: what the others must equal.
#ifndef FISHPLATE_APPS_ALONE_H
#define FISHPLATE_APPS_ALONE_H

#include "drawing.h"

// Draws into an empty image. Returns the greatest absolute value that the formula has at a corner
// of a triangle, where it should be 0.
double alone_draw(const struct field *field, const struct view *view, struct image *image);

#endif
