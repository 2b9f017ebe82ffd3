// A block of cells with its samples, the unit in which the volume is distributed and drawn.
#ifndef FISHPLATE_APPS_BLOCK_H
#define FISHPLATE_APPS_BLOCK_H

#include "field.h"

#include <stdbool.h>
#include <stddef.h>

// Few enough for a block to hide behind others, many enough for its borders not to weigh.
enum { BLOCK_CELLS = 16 };

// Points along a side with one beyond at each end, of which gradients are made.
enum { BLOCK_POINTS = BLOCK_CELLS + 3 };

struct block {
    int first[3]; // cell
    int cells[3]; // fewer at the end of the volume
    bool crossed; // by the surface
    float samples[BLOCK_POINTS][BLOCK_POINTS][BLOCK_POINTS]; // z, y, x
};

// Blocks along each side.
int block_side(const struct field *field);

// Visits the places of all blocks, in the same order on every rank.
typedef void block_visitor(const int place[3], void *state);
void block_each(const struct field *field, block_visitor *visit, void *state);

// The rank of a block; along each axis they go round.
int block_owner(const int place[3], int ranks);

void block_fill(struct block *block, const struct field *field, const int place[3]);

// The sample at a point of the block, from 0 to its cells; -1 and one more for gradients.
static inline float block_sample(const struct block *block, int x, int y, int z)
{
    return block->samples[z + 1][y + 1][x + 1];
}

#endif
