#include "blocks.h"

#include "verify.h"

static unsigned char *place_of(const struct collective *collective, int source)
{
    return collective->receive.bytes + (size_t)source * collective->size;
}

void blocks_poison(struct collective *collective, int block)
{
    // In this order the guard after each block is overwritten by the next, but for the last.
    for (int source = 0; source < collective->session->ranks; source++) {
        struct content expected = collective_content(collective, source, block);
        check_poison(place_of(collective, source), &expected);
    }
}

void blocks_verify(const struct collective *collective, int block)
{
    int last = collective->session->ranks - 1;
    for (int source = 0; source <= last; source++) {
        struct content expected = collective_content(collective, source, block);
        if (source < last)
            verify_block(place_of(collective, source), &expected, collective->iteration);
        else
            verify_content(place_of(collective, source), &expected, collective->iteration);
    }
}
