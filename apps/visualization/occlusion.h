// What is already covered: for each tile of the image, how far away the farthest pixel is. A
// block that is behind all of them needs not be extracted.
#ifndef FISHPLATE_APPS_OCCLUSION_H
#define FISHPLATE_APPS_OCCLUSION_H

#include "drawing.h"
#include "image.h"

#include <stdbool.h>

struct occlusion {
    int columns, rows; // tiles
    uint32_t *farthest; // depths; UINT32_MAX where a pixel is empty
};

struct occlusion occlusion_create(const struct image *image);
void occlusion_destroy(struct occlusion *occlusion);
void occlusion_clear(struct occlusion *occlusion);

// Depths of whole rows of tiles, whose pixels start at `pixels`.
void occlusion_measure(const struct image *image, const uint64_t *pixels, int first_row, int rows,
                       uint32_t *farthest);

// Whether nothing of a block with this extent can be seen.
bool occlusion_hides(const struct occlusion *occlusion, const struct extent *extent);

#endif
