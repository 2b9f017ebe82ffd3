#include "sum.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void sum_subtract(unsigned char *bytes, const struct content *content)
{
    unsigned char *other = allocate(content->size + CHECK_GUARD);
    check_fill(other, content);
    for (size_t at = 0; at < content->size; at += sizeof(uint32_t)) {
        uint32_t sum, part;
        memcpy(&sum, bytes + at, sizeof sum);
        memcpy(&part, other + at, sizeof part);
        sum -= part;
        memcpy(bytes + at, &sum, sizeof sum);
    }
    free(other);
}
