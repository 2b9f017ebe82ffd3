// One-sided communication: put, get, accumulate and its kin, under all three ways of synchronization.
#include "common.h"

enum { SHORT = 8, LONG = 100000, ROUNDS = 20 };

static int rank, size;

// Every rank puts a block into every window, and gets it back from one.
static void fences(int count)
{
    int64_t *base, *block = allocate(sizeof *block * (size_t)count);
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)sizeof *base * count * size, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_fence(0, window);
        for (int i = 0; i < count; i++)
            block[i] = (int64_t)rank * 1000003 + round * 7919 + i;
        for (int peer = 0; peer < size; peer++)
            MPI_Put(block, count, MPI_INT64_T, peer, (MPI_Aint)rank * count, count, MPI_INT64_T, window);
        MPI_Win_fence(0, window);
        for (int peer = 0; peer < size; peer++)
            for (int i = 0; i < count; i++)
                expect(base[peer * count + i] == (int64_t)peer * 1000003 + round * 7919 + i,
                       "put: element %d of rank %d is %lld", i, peer, (long long)base[peer * count + i]);
        int next = (rank + 1) % size;
        memset(block, 0, sizeof *block * (size_t)count);
        MPI_Win_fence(0, window);
        MPI_Get(block, count, MPI_INT64_T, next, (MPI_Aint)next * count, count, MPI_INT64_T, window);
        MPI_Win_fence(0, window);
        for (int i = 0; i < count; i++)
            expect(block[i] == (int64_t)next * 1000003 + round * 7919 + i, "get: element %d is %lld", i,
                   (long long)block[i]);
    }
    MPI_Win_free(&window);
    free(block);
}

// All ranks add to rank 0's window at once; a lock, or atomicity alone, keeps the sums right.
static void sums(int count)
{
    int64_t *base, *block = allocate(sizeof *block * (size_t)count);
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)sizeof *base * (count + 2), sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, sizeof *base * (size_t)(count + 2));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        block[i] = rank + i;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Accumulate(block, count, MPI_INT64_T, 0, 0, count, MPI_INT64_T, MPI_SUM, window);
        int64_t one = 1, before;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, count, MPI_SUM, window);
        MPI_Win_unlock(0, window);
        expect(before >= 0 && before < (int64_t)ROUNDS * size, "fetch-and-op found %lld", (long long)before);

        // A counter that only an exclusive lock protects.
        int64_t counter;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&counter, 1, MPI_INT64_T, 0, count + 1, 1, MPI_INT64_T, window);
        MPI_Win_flush(0, window);
        counter++;
        MPI_Put(&counter, 1, MPI_INT64_T, 0, count + 1, 1, MPI_INT64_T, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        for (int i = 0; i < count; i++) {
            int64_t sum = (int64_t)ROUNDS * (size * (size - 1) / 2 + (int64_t)size * i);
            expect(base[i] == sum, "accumulate: element %d is %lld, not %lld", i, (long long)base[i], (long long)sum);
        }
        expect(base[count] == (int64_t)ROUNDS * size, "fetch-and-op counted %lld", (long long)base[count]);
        expect(base[count + 1] == (int64_t)ROUNDS * size, "a locked counter is %lld", (long long)base[count + 1]);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    free(block);
}

// Post, start, complete, wait between neighbours; and compare-and-swap, which exactly one rank may win.
static void epochs(void)
{
    int64_t *base;
    MPI_Win window;
    MPI_Win_allocate(sizeof *base * 2, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    base[0] = base[1] = -1;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Group world, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &before, &from);
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t value = rank * 100 + round;
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(&value, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        expect(base[0] == before * 100 + round, "post and wait: %lld", (long long)base[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine = rank, nobody = -1, found;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Compare_and_swap(&mine, &nobody, &found, MPI_INT64_T, 0, 1, window);
    MPI_Win_unlock(0, window);
    int won = found == nobody, winners;
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(winners == 1, "compare-and-swap: %d ranks won", winners);
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    fences(SHORT);
    fences(LONG);
    sums(SHORT);
    sums(LONG);
    epochs();
    all_right();
}
