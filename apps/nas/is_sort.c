#include "is_sort.h"

#include "nas.h"

#include <stdlib.h>
#include <string.h>

static int *allocate_counts(int count)
{
    return allocate((size_t)count * sizeof(int));
}

void is_sort_create(struct is_sort *sort, const struct is_problem *problem, int rank, int ranks)
{
    *sort = (struct is_sort){.problem = problem, .rank = rank, .ranks = ranks};
    int64_t keys = INT64_C(1) << problem->log2_keys;
    sort->first = (int)(keys * rank / ranks);
    sort->count = (int)(keys * (rank + 1) / ranks) - sort->first;
    sort->buckets = 1 << problem->log2_buckets;
    sort->shift = problem->log2_range - problem->log2_buckets;
    sort->keys = allocate((size_t)sort->count * sizeof(int32_t));
    sort->in_buckets = allocate((size_t)sort->count * sizeof(int32_t));
    sort->own_counts = allocate_counts(sort->buckets + IS_TESTS);
    sort->all_counts = allocate_counts(sort->buckets + IS_TESTS);
    sort->bucket_places = allocate_counts(sort->buckets);
    sort->rank_ends = allocate_counts(ranks);
    sort->send_counts = allocate_counts(ranks);
    sort->send_offsets = allocate_counts(ranks);
    sort->receive_counts = allocate_counts(ranks);
    sort->receive_offsets = allocate_counts(ranks);
}

void is_sort_destroy(struct is_sort *sort)
{
    void *all[] = {sort->keys,         sort->in_buckets,     sort->own_counts,
                   sort->all_counts,   sort->bucket_places,  sort->rank_ends,
                   sort->send_counts,  sort->send_offsets,   sort->receive_counts,
                   sort->receive_offsets, sort->received,    sort->ends};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void count_buckets(struct is_sort *sort)
{
    memset(sort->own_counts, 0, (size_t)(sort->buckets + IS_TESTS) * sizeof(int));
    for (int i = 0; i < sort->count; i++)
        sort->own_counts[sort->keys[i] >> sort->shift]++;
    // Ranks that have none of the tested keys add nothing to them.
    for (int i = 0; i < IS_TESTS; i++) {
        int index = sort->problem->tests[i].index - sort->first;
        if (index >= 0 && index < sort->count)
            sort->own_counts[sort->buckets + i] = sort->keys[index];
    }
}

static void fill_buckets(struct is_sort *sort)
{
    int place = 0;
    for (int bucket = 0; bucket < sort->buckets; bucket++) {
        sort->bucket_places[bucket] = place;
        place += sort->own_counts[bucket];
    }
    for (int i = 0; i < sort->count; i++) {
        int32_t key = sort->keys[i];
        sort->in_buckets[sort->bucket_places[key >> sort->shift]++] = key;
    }
}

// Neighbouring buckets for each rank, as many keys for one as for another where buckets allow.
static void share_buckets(struct is_sort *sort)
{
    int64_t keys = INT64_C(1) << sort->problem->log2_keys, sum = 0;
    int bucket = 0;
    for (int rank = 0; rank < sort->ranks; rank++) {
        if (rank == sort->rank) {
            sort->least_key = bucket << sort->shift;
            sort->before = (int)sum;
        }
        sort->send_offsets[rank] = bucket == 0 ? 0 : sort->bucket_places[bucket - 1];
        int64_t share = keys * (rank + 1) / sort->ranks;
        while (bucket < sort->buckets && (rank == sort->ranks - 1 || sum < share))
            sum += sort->all_counts[bucket++];
        int end = bucket == 0 ? 0 : sort->bucket_places[bucket - 1];
        sort->send_counts[rank] = end - sort->send_offsets[rank];
        if (rank == sort->rank)
            sort->range = (bucket << sort->shift) - sort->least_key;
    }
}

// More than this when chance makes one rank's buckets large; contents do not matter.
static void *enlarge(void *memory, int *capacity, int needed, size_t size)
{
    if (needed <= *capacity)
        return memory;
    free(memory);
    *capacity = needed + needed / 8;
    return allocate((size_t)*capacity * size);
}

static void send_keys(struct is_sort *sort)
{
    comm_alltoall(sort->send_counts, 1, MPI_INT, sort->receive_counts, 1, MPI_INT, MPI_COMM_WORLD);
    sort->received_count = 0;
    for (int rank = 0; rank < sort->ranks; rank++) {
        sort->receive_offsets[rank] = sort->received_count;
        sort->received_count += sort->receive_counts[rank];
    }
    sort->received =
        enlarge(sort->received, &sort->received_capacity, sort->received_count, sizeof(int32_t));
    comm_alltoallv(sort->in_buckets, sort->send_counts, sort->send_offsets, MPI_INT32_T,
                   sort->received, sort->receive_counts, sort->receive_offsets, MPI_INT32_T,
                   MPI_COMM_WORLD);
}

static void rank_keys(struct is_sort *sort)
{
    sort->ends = enlarge(sort->ends, &sort->ends_capacity, sort->range, sizeof(int));
    memset(sort->ends, 0, (size_t)sort->range * sizeof(int));
    int *counts = sort->ends;
    for (int i = 0; i < sort->received_count; i++)
        counts[sort->received[i] - sort->least_key]++;
    for (int i = 1; i < sort->range; i++)
        counts[i] += counts[i - 1];
}

void is_sort_run(struct is_sort *sort)
{
    count_buckets(sort);
    comm_allreduce(sort->own_counts, sort->all_counts, sort->buckets + IS_TESTS, MPI_INT, MPI_SUM,
                   MPI_COMM_WORLD);
    fill_buckets(sort);
    share_buckets(sort);
    send_keys(sort);
    rank_keys(sort);
}

int is_sort_rank_of(const struct is_sort *sort, int32_t key)
{
    int index = key - sort->least_key;
    return sort->before + (index == 0 ? 0 : sort->ends[index - 1]);
}
