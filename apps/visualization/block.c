#include "block.h"

int block_side(const struct field *field)
{
    return (field->cells + BLOCK_CELLS - 1) / BLOCK_CELLS;
}

void block_each(const struct field *field, block_visitor *visit, void *state)
{
    int side = block_side(field), place[3];
    for (place[2] = 0; place[2] < side; place[2]++)
        for (place[1] = 0; place[1] < side; place[1]++)
            for (place[0] = 0; place[0] < side; place[0]++)
                visit(place, state);
}

int block_owner(const int place[3], int ranks)
{
    // Different strides: neighbours in a plane are on different ranks too.
    return (place[0] + 3 * place[1] + 5 * place[2]) % ranks;
}

void block_fill(struct block *block, const struct field *field, const int place[3])
{
    for (int d = 0; d < 3; d++) {
        int first = place[d] * BLOCK_CELLS, left = field->cells - first;
        block->first[d] = first;
        block->cells[d] = left < BLOCK_CELLS ? left : BLOCK_CELLS;
    }
    const int *first = block->first, *cells = block->cells;
    bool negative = false, positive = false;
    for (int z = -1; z <= cells[2] + 1; z++)
        for (int y = -1; y <= cells[1] + 1; y++)
            for (int x = -1; x <= cells[0] + 1; x++) {
                float sample = (float)field_sample(field, first[0] + x, first[1] + y, first[2] + z);
                block->samples[z + 1][y + 1][x + 1] = sample;
                bool inside = x >= 0 && y >= 0 && z >= 0 && x <= cells[0] && y <= cells[1]
                    && z <= cells[2];
                negative = negative || (inside && sample < 0.0f);
                positive = positive || (inside && sample >= 0.0f);
            }
    block->crossed = negative && positive;
}
