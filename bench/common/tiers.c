#include "tiers.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct hop *a = left, *b = right;
    if (a->latency_us != b->latency_us)
        return a->latency_us > b->latency_us ? 1 : -1;
    return (a->peer > b->peer) - (a->peer < b->peer);
}

int tiers_find(struct hop *hops, size_t count)
{
    qsort(hops, count, sizeof *hops, compare);
    int tier = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || hops[i].latency_us > TIERS_GAP * hops[i - 1].latency_us)
            tier++;
        hops[i].tier = tier;
    }
    return tier;
}
