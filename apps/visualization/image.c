#include "image.h"

#include "buffer.h" // allocate

#include <stdlib.h>

static int whole_tiles(int pixels)
{
    return (pixels + IMAGE_TILE - 1) / IMAGE_TILE * IMAGE_TILE;
}

size_t image_bytes(int width, int height)
{
    return (size_t)whole_tiles(width) * (size_t)whole_tiles(height) * sizeof(uint64_t);
}

struct image image_create(int width, int height)
{
    struct image image = {width, height, whole_tiles(width), whole_tiles(height), NULL};
    image.pixels = allocate(image_bytes(width, height));
    image_clear(&image);
    return image;
}

void image_destroy(struct image *image)
{
    free(image->pixels);
    image->pixels = NULL;
}

void image_clear(struct image *image)
{
    size_t count = (size_t)image->stride * (size_t)image->rows;
    for (size_t i = 0; i < count; i++)
        image->pixels[i] = IMAGE_EMPTY;
}

int image_tile_columns(const struct image *image)
{
    return image->stride / IMAGE_TILE;
}

int image_tile_rows(const struct image *image)
{
    return image->rows / IMAGE_TILE;
}

uint32_t image_colour_of(uint64_t pixel)
{
    const uint32_t background = 0x181c24;
    return pixel == IMAGE_EMPTY ? background : (uint32_t)pixel & 0xffffff;
}

uint64_t image_covered(const struct image *image)
{
    uint64_t covered = 0;
    size_t count = (size_t)image->stride * (size_t)image->rows;
    for (size_t i = 0; i < count; i++)
        covered += image->pixels[i] != IMAGE_EMPTY;
    return covered;
}

void image_merge(uint64_t *pixels, const uint64_t *others, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pixels[i] = others[i] < pixels[i] ? others[i] : pixels[i];
}
