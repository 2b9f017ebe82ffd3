#include "io_content.h"

#include "random.h"

#include <string.h>

// The part of the bytes that one word of content gives.
struct piece {
    unsigned char bytes[8];
    size_t length;
};

static struct piece piece_at(uint64_t seed, uint64_t offset, size_t left)
{
    uint64_t word = random_mix(random_mix(seed + RANDOM_GAMMA) + (offset / 8 + 1) * RANDOM_GAMMA);
    size_t skipped = offset % 8;
    struct piece piece = {.length = 8 - skipped < left ? 8 - skipped : left};
    for (size_t i = 0; i < piece.length; i++)
        piece.bytes[i] = (unsigned char)(word >> (8 * (skipped + i)));
    return piece;
}

void io_content_fill(unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size)
{
    for (size_t done = 0; done < size;) {
        struct piece piece = piece_at(seed, offset + done, size - done);
        memcpy(bytes + done, piece.bytes, piece.length);
        done += piece.length;
    }
}

void io_content_poison(unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size)
{
    io_content_fill(bytes, seed, offset, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)~bytes[i];
}

bool io_content_compare(const unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size,
                        struct mismatch *mismatch)
{
    for (size_t done = 0; done < size;) {
        struct piece piece = piece_at(seed, offset + done, size - done);
        for (size_t i = 0; i < piece.length; i++, done++) {
            if (bytes[done] == piece.bytes[i])
                continue;
            *mismatch = (struct mismatch){offset + done, bytes[done], piece.bytes[i]};
            return false;
        }
    }
    return true;
}
