// counter N [away]: ranks add to counters of rank 0 and of the last rank, N times each, 16 of them at a time. Each addition counts
// once, and those of a rank in its order. With `away`, rank 0 first looks at its counter in memory, without a call of MPI,
// until the others have added their first ones.
#include "common.h"

enum { BATCH = 16, FIRST = 100 };

static int rank, size;

static int64_t *window_of(MPI_Win *window)
{
    int64_t *base;
    MPI_Info info;
    MPI_Info_create(&info);
    // MPICH: every operation goes through libfabric, so that those of all ranks are atomic among each other.
    MPI_Info_set(info, "disable_shm_accumulate", "true");
    MPI_Win_allocate(sizeof *base, sizeof *base, info, MPI_COMM_WORLD, &base, window);
    MPI_Info_free(&info);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return base;
}

// Returns once the target has added everything.
static void add(int64_t additions, int target, MPI_Win window, int64_t *last, uint64_t *sum)
{
    const int64_t one = 1;
    int64_t before[BATCH];
    for (int64_t done = 0; done < additions;) {
        int batch = additions - done < BATCH ? (int)(additions - done) : BATCH;
        for (int i = 0; i < batch; i++)
            MPI_Fetch_and_op(&one, &before[i], MPI_INT64_T, target, 0, MPI_SUM, window);
        MPI_Win_flush(target, window);
        for (int i = 0; i < batch; i++) {
            expect(before[i] > *last, "addition %lld to rank %d finds %lld behind %lld", (long long)done + i, target,
                   (long long)before[i], (long long)*last);
            *last = before[i];
            *sum += (uint64_t)before[i];
        }
        done += batch;
    }
}

// What all additions have found, each number once.
static void check(int target, int64_t additions, uint64_t sum, const int64_t *counter)
{
    uint64_t all;
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, target, MPI_COMM_WORLD);
    if (rank != target)
        return;
    expect(*counter == additions, "the counter is at %lld, not at %lld", (long long)*counter, (long long)additions);
    uint64_t right = (uint64_t)additions * (uint64_t)(additions - 1) / 2;
    expect(all == right, "what was found adds up to %llu, not to %llu", (unsigned long long)all,
           (unsigned long long)right);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    expect(argc > 1, "usage: counter N [away]");
    bool away = argc > 2;
    int64_t additions = strtoll(argv[1], NULL, 10);
    MPI_Win window;
    volatile int64_t *counter = window_of(&window);
    MPI_Win_lock_all(0, window);
    int targets[] = {0, size - 1};
    int64_t last[] = {-1, -1};
    uint64_t sum[] = {0, 0};
    if (!away || rank > 0)
        add(FIRST, 0, window, &last[0], &sum[0]);
    else
        while (*counter < (int64_t)FIRST * (size - 1))
            continue;
    for (int at = 0; at < 2; at++)
        add(additions, targets[at], window, &last[at], &sum[at]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    check(0, additions * size + (int64_t)FIRST * (size - away), sum[0], (const int64_t *)counter);
    if (size > 1)
        check(size - 1, additions * size, sum[1], (const int64_t *)counter);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    all_right();
}
