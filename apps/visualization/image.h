// An image with depths. A pixel is one number, the depth above the colour: of two the lesser
// one is seen, whoever drew it and whenever.
#ifndef FISHPLATE_APPS_IMAGE_H
#define FISHPLATE_APPS_IMAGE_H

#include "view.h"

#include <stddef.h>

// Images are cut and occlusion is held by tiles of so many pixels along each side.
enum { IMAGE_TILE = 8 };

#define IMAGE_EMPTY UINT64_MAX

struct image {
    int width, height; // as asked for
    int stride, rows; // whole tiles
    uint64_t *pixels; // rows x stride
};

struct image image_create(int width, int height);
void image_destroy(struct image *image);
void image_clear(struct image *image);
size_t image_bytes(int width, int height);

int image_tile_columns(const struct image *image);
int image_tile_rows(const struct image *image);

static inline uint32_t image_depth_of(uint64_t pixel)
{
    return (uint32_t)(pixel >> 32);
}

// Red, green and blue; that of a pixel where nothing was drawn is the background's.
uint32_t image_colour_of(uint64_t pixel);

// Pixels where something was drawn.
uint64_t image_covered(const struct image *image);

// Takes what is nearer.
void image_merge(uint64_t *pixels, const uint64_t *others, size_t count);

struct corner {
    struct view_point at;
    float light; // 0 to 1
};

// Draws a triangle of either orientation: pixels whose centre it covers, those on an edge for
// one of its two sides only.
void image_draw(struct image *image, const struct corner corners[3], uint32_t colour);

#endif
