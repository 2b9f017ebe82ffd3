// Many long one-sided operations under way at once, in every kind of window and of synchronization: each byte is checked.
#include "common.h"

enum { LONG = 3000000, MIDDLE = 70001, SHORT = 8, COUNT = 6, ROUNDS = 2 };

static const size_t lengths[COUNT] = {LONG, MIDDLE, SHORT, LONG / 2, 16385, 1};

static int rank, size;
// What a rank writes to another: all lengths, one behind the other.
static size_t block;

static size_t start(int operation)
{
    size_t sum = 0;
    for (int i = 0; i < operation; i++)
        sum += lengths[i];
    return sum;
}

static uint64_t key(int round, int from, int to, int operation)
{
    return (uint64_t)(((round * 64 + from) * 64 + to) * 64 + operation);
}

enum kind { CREATED, ALLOCATED, DYNAMIC, KINDS };

// A window in which every rank has a block for each rank.
struct shared {
    enum kind kind;
    MPI_Win window;
    unsigned char *base;
    // Where each rank's memory begins, in the window's terms.
    MPI_Aint *begin;
};

static struct shared open_window(enum kind kind)
{
    struct shared shared = {.kind = kind, .begin = allocate(sizeof(MPI_Aint) * (size_t)size)};
    MPI_Aint length = (MPI_Aint)(block * (size_t)size), begin = 0;
    if (kind == ALLOCATED) {
        MPI_Win_allocate(length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared.base, &shared.window);
    } else {
        shared.base = allocate((size_t)length);
        if (kind == CREATED) {
            MPI_Win_create(shared.base, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared.window);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &shared.window);
            MPI_Win_attach(shared.window, shared.base, length);
            MPI_Get_address(shared.base, &begin);
        }
    }
    MPI_Allgather(&begin, 1, MPI_AINT, shared.begin, 1, MPI_AINT, MPI_COMM_WORLD);
    return shared;
}

static void close_window(struct shared *shared)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (shared->kind == DYNAMIC)
        MPI_Win_detach(shared->window, shared->base);
    MPI_Win_free(&shared->window);
    if (shared->kind != ALLOCATED)
        free(shared->base);
    free(shared->begin);
}

static MPI_Aint place(const struct shared *shared, int at, int from, int operation)
{
    return shared->begin[at] + (MPI_Aint)(block * (size_t)from + start(operation));
}

static void put_all(const struct shared *shared, unsigned char *out, int to, int round)
{
    for (int i = 0; i < COUNT; i++) {
        unsigned char *bytes = out + block * (size_t)to + start(i);
        fill(bytes, lengths[i], key(round, rank, to, i));
        MPI_Put(bytes, (int)lengths[i], MPI_BYTE, to, place(shared, to, rank, i), (int)lengths[i], MPI_BYTE,
                shared->window);
    }
}

// What `from` wrote to `to`, read back.
static void get_all(const struct shared *shared, unsigned char *in, int from, int to)
{
    for (int i = 0; i < COUNT; i++)
        MPI_Get(in + block * (size_t)to + start(i), (int)lengths[i], MPI_BYTE, to, place(shared, to, from, i),
                (int)lengths[i], MPI_BYTE, shared->window);
}

static void verify_all(const unsigned char *bytes, int from, int to, int round)
{
    for (int i = 0; i < COUNT; i++)
        verify(bytes + start(i), lengths[i], key(round, from, to, i));
}

static void fences(struct shared *shared, unsigned char *local)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_fence(0, shared->window);
        for (int to = 0; to < size; to++)
            put_all(shared, local, to, round);
        MPI_Win_fence(0, shared->window);
        for (int from = 0; from < size; from++)
            verify_all(shared->base + block * (size_t)from, from, rank, round);
        memset(local, 0, block * (size_t)size);
        MPI_Win_fence(0, shared->window);
        for (int to = 0; to < size; to++)
            get_all(shared, local, (rank + 1) % size, to);
        MPI_Win_fence(0, shared->window);
        for (int to = 0; to < size; to++)
            verify_all(local + block * (size_t)to, (rank + 1) % size, to, round);
    }
}

static void epochs(struct shared *shared, unsigned char *local)
{
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_post(all, 0, shared->window);
        MPI_Win_start(all, 0, shared->window);
        for (int to = 0; to < size; to++)
            put_all(shared, local, to, 100 + round);
        MPI_Win_complete(shared->window);
        MPI_Win_wait(shared->window);
        for (int from = 0; from < size; from++)
            verify_all(shared->base + block * (size_t)from, from, rank, 100 + round);
    }
    MPI_Group_free(&all);
}

static void locks(struct shared *shared, unsigned char *local)
{
    int next = (rank + 1) % size;
    // Nobody is still looking at what came before.
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, shared->window);
        put_all(shared, local, next, 200 + round);
        MPI_Win_flush(next, shared->window);
        memset(local, 0, block * (size_t)size);
        get_all(shared, local, rank, next);
        MPI_Win_unlock(next, shared->window);
        verify_all(local + block * (size_t)next, rank, next, 200 + round);
    }
    // What is read and what is written cross each other, between all ranks.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request requests[2 * COUNT];
    MPI_Win_lock_all(0, shared->window);
    for (int i = 0; i < COUNT; i++) {
        unsigned char *in = local + block * (size_t)next + start(i), *out = local + start(i) + (next ? 0 : block);
        size_t length = lengths[i];
        fill(out, length, key(300, rank, next, i));
        MPI_Rget(in, (int)length, MPI_BYTE, next, place(shared, next, rank, i), (int)length, MPI_BYTE, shared->window,
                 &requests[2 * i]);
        MPI_Rput(out, (int)length, MPI_BYTE, next, place(shared, next, next, i), (int)length, MPI_BYTE, shared->window,
                 &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
    verify_all(local + block * (size_t)next, rank, next, 200 + ROUNDS - 1);
    MPI_Win_flush_all(shared->window);
    MPI_Win_unlock_all(shared->window);
    MPI_Barrier(MPI_COMM_WORLD);
    verify_all(shared->base + block * (size_t)rank, (rank + size - 1) % size, rank, 300);
}

// Columns of a matrix, as one derived datatype.
static void columns(void)
{
    enum { ROWS = 2000, WIDE = 64 };
    int32_t *base, *local = allocate(sizeof *local * ROWS * WIDE);
    MPI_Win window;
    MPI_Datatype column;
    MPI_Type_vector(ROWS, WIDE / 4, WIDE, MPI_INT32_T, &column);
    MPI_Type_commit(&column);
    MPI_Win_allocate((MPI_Aint)sizeof *base * ROWS * WIDE, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, sizeof *base * ROWS * WIDE);
    for (int i = 0; i < ROWS * WIDE; i++)
        local[i] = rank * 1000000 + i;
    MPI_Win_fence(0, window);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int part = 0; part < 4; part += 2)
        MPI_Put(local + part * WIDE / 4, 1, column, next, part * WIDE / 4, 1, column, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < ROWS * WIDE; i++) {
        int32_t wanted = i % WIDE / (WIDE / 4) % 2 ? 0 : before * 1000000 + i;
        expect(base[i] == wanted, "column: element %d is %d, not %d", i, base[i], wanted);
    }
    MPI_Type_free(&column);
    MPI_Win_free(&window);
    free(local);
}

// Long accumulates, to all ranks at once.
static void sums(void)
{
    enum { ELEMENTS = 200000 };
    int64_t *base, *local = allocate(sizeof *local * ELEMENTS);
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)sizeof *base * ELEMENTS, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, sizeof *base * ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++)
        local[i] = rank + i;
    MPI_Win_fence(0, window);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(local, ELEMENTS, MPI_INT64_T, to, 0, ELEMENTS, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < ELEMENTS; i++)
        expect(base[i] == (int64_t)size * i + size * (size - 1) / 2, "sum %d is %lld", i, (long long)base[i]);
    MPI_Win_free(&window);
    free(local);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    block = start(COUNT);
    unsigned char *local = allocate(block * (size_t)(size > 2 ? size : 2));
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct shared shared = open_window(kind);
        fences(&shared, local);
        epochs(&shared, local);
        locks(&shared, local);
        close_window(&shared);
    }
    free(local);
    columns();
    sums();
    all_right();
}
