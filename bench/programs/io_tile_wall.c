#include "io_tile_wall.h"

struct wall wall_of(const struct options *options, int rank)
{
    struct image_size tiles = options->tiles, tile = options->tile, overlap = options->overlap;
    uint64_t number = (uint64_t)rank % (tiles.width * tiles.height);
    uint64_t x = number % tiles.width * (tile.width - overlap.width);
    uint64_t y = number / tiles.width * (tile.height - overlap.height);
    struct wall wall = {
        .width = tiles.width * (tile.width - overlap.width) + overlap.width,
        .height = tiles.height * (tile.height - overlap.height) + overlap.height,
        .tile_row_bytes = tile.width * options->element,
        .tile_rows = tile.height,
    };
    wall.row_bytes = wall.width * options->element;
    wall.first = y * wall.row_bytes + x * options->element;
    return wall;
}
