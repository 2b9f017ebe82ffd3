// Blocks drawn into an image: their surface, as it is seen.
#ifndef FISHPLATE_APPS_DRAWING_H
#define FISHPLATE_APPS_DRAWING_H

#include "image.h"
#include "surface.h"
#include "view.h"

// What a block can cover of the image.
struct extent {
    int left, right, top, bottom; // pixels, the ends are beyond; empty when outside of the image
    double nearest, farthest; // distances
};

struct extent drawing_extent(const struct block *block, const struct field *field,
                             const struct view *view, const struct image *image);

// Returns the number of triangles.
uint64_t drawing_block(const struct block *block, const struct field *field,
                       const struct view *view, struct image *image);

// The same; and notes the greatest absolute value that the formula has at a corner.
uint64_t drawing_block_checked(const struct block *block, const struct field *field,
                               const struct view *view, struct image *image, double *greatest);

#endif
