#include "occlusion.h"

#include "buffer.h" // allocate

#include <stdlib.h>

struct occlusion occlusion_create(const struct image *image)
{
    struct occlusion occlusion = {image_tile_columns(image), image_tile_rows(image), NULL};
    size_t tiles = (size_t)occlusion.columns * (size_t)occlusion.rows;
    occlusion.farthest = allocate(tiles * sizeof(uint32_t));
    occlusion_clear(&occlusion);
    return occlusion;
}

void occlusion_destroy(struct occlusion *occlusion)
{
    free(occlusion->farthest);
    occlusion->farthest = NULL;
}

void occlusion_clear(struct occlusion *occlusion)
{
    size_t tiles = (size_t)occlusion->columns * (size_t)occlusion->rows;
    for (size_t i = 0; i < tiles; i++)
        occlusion->farthest[i] = UINT32_MAX;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

// Pixels beyond the image's own are never drawn, and do not count.
static uint32_t farthest_in(const struct image *image, const uint64_t *pixels, int columns,
                            int rows)
{
    uint32_t farthest = 0;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            uint32_t depth = image_depth_of(pixels[(size_t)y * (size_t)image->stride + (size_t)x]);
            farthest = depth > farthest ? depth : farthest;
        }
    return farthest;
}

void occlusion_measure(const struct image *image, const uint64_t *pixels, int first_row, int rows,
                       uint32_t *farthest)
{
    for (int row = 0; row < rows; row++) {
        int height = lesser(IMAGE_TILE, image->height - (first_row + row) * IMAGE_TILE);
        const uint64_t *line = pixels + (size_t)row * IMAGE_TILE * (size_t)image->stride;
        for (int column = 0; column < image_tile_columns(image); column++) {
            int width = lesser(IMAGE_TILE, image->width - column * IMAGE_TILE);
            *farthest++ = farthest_in(image, line + column * IMAGE_TILE, width, height);
        }
    }
}

bool occlusion_hides(const struct occlusion *occlusion, const struct extent *extent)
{
    if (extent->left >= extent->right || extent->top >= extent->bottom)
        return true;
    // Depths are rounded: nearer than the nearest by a little.
    const uint32_t rounding = 4;
    uint32_t nearest = view_depth(extent->nearest);
    nearest = nearest > rounding ? nearest - rounding : 0;
    for (int row = extent->top / IMAGE_TILE; row <= (extent->bottom - 1) / IMAGE_TILE; row++)
        for (int column = extent->left / IMAGE_TILE; column <= (extent->right - 1) / IMAGE_TILE;
             column++)
            if (occlusion->farthest[row * occlusion->columns + column] >= nearest)
                return false;
    return true;
}
