#include "check.h"

#include "random.h"

#include <string.h>

enum { POISON = 0xa5 };

static uint64_t content_key(const struct content *content)
{
    uint64_t key = random_mix(content->seed + RANDOM_GAMMA);
    key = random_mix(key + (uint64_t)content->source);
    key = random_mix(key + content->sequence);
    return random_mix(key + content->size);
}

// Eight bytes of content, at offset 8 * index. Written byte by byte by the callers, so
// that the content is the same on every machine.
static uint64_t content_word(uint64_t key, uint64_t index)
{
    return random_mix(key + (index + 1) * RANDOM_GAMMA);
}

static void store_word(unsigned char *bytes, uint64_t word, size_t count)
{
    unsigned char stored[8];
    for (size_t i = 0; i < 8; i++)
        stored[i] = (unsigned char)(word >> (8 * i));
    memcpy(bytes, stored, count);
}

static void fill(unsigned char *bytes, const struct content *content, uint64_t flip)
{
    uint64_t key = content_key(content);
    size_t words = content->size / 8, rest = content->size % 8;
    for (size_t i = 0; i < words; i++)
        store_word(bytes + 8 * i, content_word(key, i) ^ flip, 8);
    store_word(bytes + 8 * words, content_word(key, words) ^ flip, rest);
}

void check_fill(unsigned char *bytes, const struct content *content)
{
    fill(bytes, content, 0);
}

void check_poison(unsigned char *bytes, const struct content *content)
{
    fill(bytes, content, UINT64_MAX);
    memset(bytes + content->size, POISON, CHECK_GUARD);
}

void check_poison_unknown(unsigned char *bytes, size_t capacity)
{
    memset(bytes, POISON, capacity + CHECK_GUARD);
}

static bool compare_bytes(const unsigned char *bytes, const unsigned char *expected, size_t offset,
                          size_t count, struct mismatch *mismatch)
{
    if (memcmp(bytes + offset, expected, count) == 0)
        return true;
    size_t i = 0;
    while (bytes[offset + i] == expected[i])
        i++;
    *mismatch = (struct mismatch){offset + i, bytes[offset + i], expected[i]};
    return false;
}

bool check_compare_block(const unsigned char *bytes, const struct content *content,
                         struct mismatch *mismatch)
{
    uint64_t key = content_key(content);
    for (size_t offset = 0; offset < content->size; offset += 8) {
        size_t rest = content->size - offset;
        unsigned char expected[8];
        store_word(expected, content_word(key, offset / 8), 8);
        if (!compare_bytes(bytes, expected, offset, rest < 8 ? rest : 8, mismatch))
            return false;
    }
    return true;
}

bool check_compare(const unsigned char *bytes, const struct content *content,
                   struct mismatch *mismatch)
{
    if (!check_compare_block(bytes, content, mismatch))
        return false;
    unsigned char guard[CHECK_GUARD];
    memset(guard, POISON, sizeof guard);
    return compare_bytes(bytes, guard, content->size, sizeof guard, mismatch);
}
