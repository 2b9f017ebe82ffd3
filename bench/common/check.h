// The content of a message: what is sent, and whether it is what arrived.
#ifndef FISHPLATE_BENCH_CHECK_H
#define FISHPLATE_BENCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes after a message that must stay untouched by its receive.
enum { CHECK_GUARD = 64 };

// What the content is derived from, together with the offset in the message.
struct content {
    uint64_t seed;
    int source; // rank in MPI_COMM_WORLD
    uint64_t sequence; // of the message at its source
    size_t size;
};

struct mismatch {
    size_t offset; // at or beyond the size: written past the end
    unsigned char got, expected;
};

void check_fill(unsigned char *bytes, const struct content *content);

// Fills a receive buffer of `content->size` bytes and its guard with what cannot pass:
// the complement of the content, so that a single byte not received is found.
void check_poison(unsigned char *bytes, const struct content *content);

// The same for `capacity` bytes and the guard when the message to come is not known.
void check_poison_unknown(unsigned char *bytes, size_t capacity);

// Compares the message and the guard after it. False at the first wrong byte.
bool check_compare(const unsigned char *bytes, const struct content *content,
                   struct mismatch *mismatch);

// The same without the guard, for a message that others follow.
bool check_compare_block(const unsigned char *bytes, const struct content *content,
                         struct mismatch *mismatch);

#endif
