#include "alone.h"

#include "buffer.h" // allocate

#include <stdlib.h>

struct alone {
    const struct field *field;
    const struct view *view;
    struct image *image;
    struct block block; // one after the other
    double greatest;
};

static void draw(const int place[3], void *state)
{
    struct alone *alone = state;
    block_fill(&alone->block, alone->field, place);
    if (alone->block.crossed)
        drawing_block_checked(&alone->block, alone->field, alone->view, alone->image,
                              &alone->greatest);
}

double alone_draw(const struct field *field, const struct view *view, struct image *image)
{
    struct alone *alone = allocate(sizeof *alone);
    alone->field = field;
    alone->view = view;
    alone->image = image;
    alone->greatest = 0.0;
    block_each(field, draw, alone);
    double greatest = alone->greatest;
    free(alone);
    return greatest;
}
