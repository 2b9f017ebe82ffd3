#include "hits.h"

#include "buffer.h" // reallocate
#include "random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct hits *hits, size_t more)
{
    if (hits->count + more <= hits->capacity)
        return;
    hits->capacity = 2 * (hits->count + more);
    hits->items = reallocate(hits->items, hits->capacity * sizeof *hits->items);
}

void hits_add(struct hits *hits, const struct hit *hit, const char *name)
{
    reserve(hits, 1);
    struct hit *added = &hits->items[hits->count++];
    *added = *hit;
    added->name = hits->names.count;
    text_append(&hits->names, name, (size_t)hit->name_length);
}

void hits_destroy(struct hits *hits)
{
    free(hits->items);
    text_destroy(&hits->names);
    *hits = (struct hits){0};
}

void hits_pack(const struct hits *hits, struct text *message)
{
    size_t sizes[2] = {hits->count, hits->names.count};
    text_append(message, sizes, sizeof sizes);
    text_append(message, hits->items, hits->count * sizeof *hits->items);
    text_append(message, hits->names.bytes, hits->names.count);
}

void hits_unpack(struct hits *hits, const char *message)
{
    size_t sizes[2], names = hits->names.count;
    memcpy(sizes, message, sizeof sizes);
    if (sizes[0] == 0)
        return;
    reserve(hits, sizes[0]);
    const char *items = message + sizeof sizes;
    memcpy(hits->items + hits->count, items, sizes[0] * sizeof *hits->items);
    for (size_t i = 0; i < sizes[0]; i++)
        hits->items[hits->count++].name += names;
    text_append(&hits->names, items + sizes[0] * sizeof *hits->items, sizes[1]);
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *first, const void *second)
{
    const struct hit *a = first, *b = second;
    int orders[] = {
        order(a->query, b->query),
        order(b->best, a->best),
        order(a->protein, b->protein),
        order(b->alignment.score, a->alignment.score),
        order(a->alignment.subject_start, b->alignment.subject_start),
        order(a->alignment.query_start, b->alignment.query_start),
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

void hits_sort(struct hits *hits)
{
    if (hits->count > 0)
        qsort(hits->items, hits->count, sizeof *hits->items, compare);
}

// The digits that blastp gives.
static void print_evalue(double evalue, FILE *file)
{
    if (evalue < 1e-180)
        fprintf(file, "0.0");
    else if (evalue < 0.0009)
        fprintf(file, "%.2e", evalue);
    else
        fprintf(file, "%.*f", evalue < 0.1 ? 3 : evalue < 1.0 ? 2 : evalue < 10.0 ? 1 : 0, evalue);
}

void hits_print(const struct hits *hits, const struct hit *hit, const char *query, int query_length,
                FILE *file)
{
    const struct alignment *alignment = &hit->alignment;
    int mismatches = alignment->columns - alignment->gap_columns - alignment->identities;
    fprintf(file, "%.*s\t%.*s\t%.3f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", query_length, query,
            (int)hit->name_length, hits->names.bytes + hit->name,
            100.0 * alignment->identities / alignment->columns, alignment->columns, mismatches,
            alignment->gaps, alignment->query_start + 1, alignment->query_end,
            alignment->subject_start + 1, alignment->subject_end);
    print_evalue(hit->evalue, file);
    if (hit->bits > 99.9)
        fprintf(file, "\t%ld\n", (long)hit->bits);
    else
        fprintf(file, "\t%.1f\n", hit->bits);
}

uint64_t hits_checksum(const struct hits *hits)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < hits->count; i++) {
        const struct hit *hit = &hits->items[i];
        const struct alignment *a = &hit->alignment;
        int64_t parts[] = {hit->query,     hit->protein, a->query_start, a->query_end,
                           a->subject_start, a->subject_end, a->score,     a->columns,
                           a->identities,  a->gaps,      a->gap_columns};
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            sum = random_mix(sum + RANDOM_GAMMA + (uint64_t)parts[k]);
    }
    return sum;
}
