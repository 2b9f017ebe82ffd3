// The isosurface in a block, by marching tetrahedra.
#ifndef FISHPLATE_APPS_SURFACE_H
#define FISHPLATE_APPS_SURFACE_H

#include "block.h"

struct vertex {
    double place[3];
    double gradient[3]; // of the scalar
};

struct triangle {
    struct vertex corners[3];
};

// Takes the triangles one by one.
typedef void surface_visitor(const struct triangle *triangle, void *state);

// The same triangles, whoever extracts them and whatever is around the block.
void surface_extract(const struct block *block, const struct field *field, surface_visitor *visit,
                     void *state);

#endif
