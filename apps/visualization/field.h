// The volume: a scalar at each point of a grid over the cube from -1 to 1, by formula. Its
// isosurface is where the scalar is 0.
#ifndef FISHPLATE_APPS_FIELD_H
#define FISHPLATE_APPS_FIELD_H

#include "options.h"

// What the formulas need along an axis, for points -1 to cells + 1.
struct field_axis {
    double position, sine, cosine;
};

struct field {
    int surface; // enum surface
    int cells; // along each side
    double step; // between points
    struct field_axis *axis; // element 0 is point -1
};

// The sphere's.
extern const double field_radius;

struct field field_create(int surface, int cells);
void field_destroy(struct field *field);

// At a point of the grid or one beyond.
double field_sample(const struct field *field, int i, int j, int k);

double field_position(const struct field *field, int index);

// At any place.
double field_at(const struct field *field, const double place[3]);

// The greatest value at a place where a linear interpolation, between two points of a cell, is 0.
double field_error_bound(const struct field *field);

#endif
