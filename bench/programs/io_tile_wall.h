// A wall of tiles, as a file has it: rows of pixels over the whole width of the wall.
#ifndef FISHPLATE_BENCH_IO_TILE_WALL_H
#define FISHPLATE_BENCH_IO_TILE_WALL_H

#include "options.h"

struct wall {
    uint64_t width, height; // pixels, with what neighbours have in common once
    uint64_t row_bytes; // of the whole wall
    uint64_t tile_row_bytes; // of one tile
    uint64_t tile_rows;
    uint64_t first; // offset of this rank's tile in the file
};

// That of the options, and the tile of a rank: the ranks take the tiles in turn.
struct wall wall_of(const struct options *options, int rank);

#endif
