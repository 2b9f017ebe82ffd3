// Keys spread over ranks, sorted so that those of a rank are all less than those of the next.
#ifndef FISHPLATE_APPS_IS_SORT_H
#define FISHPLATE_APPS_IS_SORT_H

#include "is_problem.h"

#include <stdint.h>

struct is_sort {
    const struct is_problem *problem;
    int rank, ranks;
    int shift; // from a key to its bucket
    int buckets;

    int first, count; // of this rank's keys, before they are sorted
    int32_t *keys;
    int32_t *in_buckets; // the same, those of a bucket together

    // Of each bucket, and behind them the keys that are tested; of this rank and of all.
    int *own_counts, *all_counts;
    int *bucket_places; // in in_buckets; the end of each once it is filled
    int *rank_ends; // of each rank, the bucket after its last
    int *send_counts, *send_offsets, *receive_counts, *receive_offsets; // by rank

    int32_t *received; // the keys of this rank's buckets
    int received_count, received_capacity;
    int least_key; // of its buckets
    int range; // keys that there may be in them
    int before; // keys of all lower buckets
    int *ends; // by key: how many of `received` are no greater
    int ends_capacity;
};

void is_sort_create(struct is_sort *sort, const struct is_problem *problem, int rank, int ranks);
void is_sort_destroy(struct is_sort *sort);

// Ranks the keys; all_counts, received and ends tell the result.
void is_sort_run(struct is_sort *sort);

// How many keys of all ranks are less than this one, which must be of this rank's buckets.
int is_sort_rank_of(const struct is_sort *sort, int32_t key);

#endif
