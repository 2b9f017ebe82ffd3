// Collective operations, each result checked: every root, odd lengths, in place, datatypes with gaps, non-blocking ones
// mixed with messages, on communicators that cross clusters in several ways.
#include "common.h"

enum { MOST = 40000, GAP = 2 };

static int64_t value(int rank, size_t index)
{
    return (int64_t)(rank + 1) * 1000003 + (int64_t)index * 7 % 1009;
}

static int64_t sum(int ranks, size_t index)
{
    int64_t total = 0;
    for (int rank = 0; rank < ranks; rank++)
        total += value(rank, index);
    return total;
}

static int64_t *array(size_t count)
{
    int64_t *numbers = allocate(count * sizeof *numbers);
    memset(numbers, 0xff, count * sizeof *numbers);
    return numbers;
}

static void put(int64_t *numbers, size_t count, int rank, size_t first)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = value(rank, first + i);
}

static void check(const int64_t *numbers, size_t count, int rank, size_t first, const char *what)
{
    for (size_t i = 0; i < count; i++)
        expect(numbers[i] == value(rank, first + i), "%s: number %zu of %zu of rank %d is %lld", what, i, count, rank,
               (long long)numbers[i]);
}

static void check_sum(const int64_t *numbers, size_t count, int ranks, const char *what)
{
    for (size_t i = 0; i < count; i++)
        expect(numbers[i] == sum(ranks, i), "%s: number %zu of %zu is %lld", what, i, count, (long long)numbers[i]);
}

// A number and a gap behind it.
static MPI_Datatype gapped(void)
{
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT64_T, 0, GAP * sizeof(int64_t), &type);
    MPI_Type_commit(&type);
    return type;
}

static void check_gapped(const int64_t *numbers, size_t count, int rank, size_t first, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        expect(numbers[GAP * i] == value(rank, first + i), "%s with gaps: number %zu is %lld", what, i,
               (long long)numbers[GAP * i]);
        expect(numbers[GAP * i + 1] == -1, "%s: the gap behind number %zu is overwritten", what, i);
    }
}

static void broadcast(MPI_Comm comm, int root, size_t count)
{
    int rank = rank_of(comm);
    int64_t *numbers = array(GAP * count);
    if (rank == root)
        put(numbers, count, root, 0);
    MPI_Bcast(numbers, (int)count, MPI_INT64_T, root, comm);
    check(numbers, count, root, 0, "MPI_Bcast");
    // Every other rank has the same numbers in another layout.
    bool has_gaps = rank % 2 == 1;
    MPI_Datatype type = gapped();
    memset(numbers, 0xff, GAP * count * sizeof *numbers);
    for (size_t i = 0; rank == root && i < count; i++)
        numbers[has_gaps ? GAP * i : i] = value(root, i);
    MPI_Bcast(numbers, (int)count, has_gaps ? type : MPI_INT64_T, root, comm);
    if (has_gaps)
        check_gapped(numbers, count, root, 0, "MPI_Bcast");
    else
        check(numbers, count, root, 0, "MPI_Bcast to ranks with gaps");
    MPI_Type_free(&type);
    free(numbers);
}

static void reduce(MPI_Comm comm, int root, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    int64_t *mine = array(count), *all = array(count);
    put(mine, count, rank, 0);
    MPI_Reduce(mine, rank == root ? all : NULL, (int)count, MPI_INT64_T, MPI_SUM, root, comm);
    check(mine, count, rank, 0, "send buffer of MPI_Reduce");
    if (rank == root)
        check_sum(all, count, ranks, "MPI_Reduce");
    MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, rank == root ? mine : NULL, (int)count, MPI_INT64_T, MPI_SUM, root,
               comm);
    if (rank == root)
        check_sum(mine, count, ranks, "MPI_Reduce in place");
    free(mine);
    free(all);
}

// Associative, not commutative: the result is the leftmost operand.
static void leftmost(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(right, left, (size_t)*count * sizeof(int64_t));
}

static void allreduce(MPI_Comm comm, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    int64_t *mine = array(count), *all = array(count);
    put(mine, count, rank, 0);
    MPI_Allreduce(mine, all, (int)count, MPI_INT64_T, MPI_SUM, comm);
    check_sum(all, count, ranks, "MPI_Allreduce");
    memcpy(all, mine, count * sizeof *all);
    MPI_Allreduce(MPI_IN_PLACE, all, (int)count, MPI_INT64_T, MPI_SUM, comm);
    check_sum(all, count, ranks, "MPI_Allreduce in place");
    MPI_Op op;
    MPI_Op_create(leftmost, 0, &op);
    MPI_Allreduce(mine, all, (int)count, MPI_INT64_T, op, comm);
    check(all, count, 0, 0, "MPI_Allreduce that keeps the order");
    MPI_Op_free(&op);
    struct { double number; int rank; } place = {rank == ranks / 2 ? 10.5 : rank, rank}, most;
    MPI_Allreduce(&place, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    expect(most.rank == (ranks > 11 ? ranks - 1 : ranks / 2), "MPI_MAXLOC is at rank %d", most.rank);
    free(mine);
    free(all);
}

// Rank i gets count / (i + 1) numbers of the sum: blocking, in place, in order, and by a call that returns at once.
static void reduce_scatter(MPI_Comm comm, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    int *counts = allocate((size_t)ranks * sizeof *counts);
    size_t total = 0, first = 0;
    for (int to = 0; to < ranks; to++) {
        counts[to] = (int)count / (to + 1);
        first += to < rank ? (size_t)counts[to] : 0;
        total += (size_t)counts[to];
    }
    size_t own = (size_t)counts[rank], all = count * (size_t)ranks;
    int64_t *mine = array(all), *got = array(all);
    put(mine, all, rank, 0);
    MPI_Op op;
    MPI_Op_create(leftmost, 0, &op);
    for (int way = 0; way < 4; way++) {
        memset(got, 0xff, all * sizeof *got);
        MPI_Request request = MPI_REQUEST_NULL;
        if (way == 0)
            MPI_Reduce_scatter(mine, got, counts, MPI_INT64_T, MPI_SUM, comm);
        if (way == 1)
            MPI_Ireduce_scatter(mine, got, counts, MPI_INT64_T, MPI_SUM, comm, &request);
        if (way == 2)
            MPI_Reduce_scatter(MPI_IN_PLACE, memcpy(got, mine, total * sizeof *got), counts, MPI_INT64_T, MPI_SUM, comm);
        if (way == 3)
            MPI_Reduce_scatter(mine, got, counts, MPI_INT64_T, op, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < own; i++)
            expect(got[i] == (way == 3 ? value(0, first + i) : sum(ranks, first + i)),
                   "MPI_Reduce_scatter, way %d: number %zu is %lld", way, i, (long long)got[i]);
        expect(way == 2 || own == all || got[own] == -1, "MPI_Reduce_scatter writes behind its block");
    }
    MPI_Reduce_scatter_block(mine, got, (int)count, MPI_INT64_T, MPI_SUM, comm);
    for (size_t i = 0; i < count; i++)
        expect(got[i] == sum(ranks, count * (size_t)rank + i), "MPI_Reduce_scatter_block: number %zu is %lld", i,
               (long long)got[i]);
    MPI_Op_free(&op);
    free(counts);
    free(mine);
    free(got);
}

static void allgather(MPI_Comm comm, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    size_t total = count * (size_t)ranks;
    int64_t *mine = array(count), *all = array(GAP * total);
    put(mine, count, rank, 0);
    MPI_Allgather(mine, (int)count, MPI_INT64_T, all, (int)count, MPI_INT64_T, comm);
    for (int from = 0; from < ranks; from++)
        check(all + count * (size_t)from, count, from, 0, "MPI_Allgather");
    memset(all, 0xff, GAP * total * sizeof *all);
    MPI_Datatype type = gapped();
    for (size_t i = 0; i < count; i++)
        all[GAP * (count * (size_t)rank + i)] = value(rank, i);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)count, type, comm);
    for (int from = 0; from < ranks; from++)
        check_gapped(all + GAP * count * (size_t)from, count, from, 0, "MPI_Allgather in place");
    MPI_Type_free(&type);
    free(mine);
    free(all);
}

// Rank i has count / (i + 1) numbers; blocks lie in reverse order, with a number between them.
static void allgatherv(MPI_Comm comm, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    int *counts = allocate((size_t)ranks * sizeof *counts), *starts = allocate((size_t)ranks * sizeof *starts);
    int end = 0;
    for (int from = ranks - 1; from >= 0; from--) {
        counts[from] = (int)count / (from + 1);
        starts[from] = end;
        end += counts[from] + 1;
    }
    int64_t *mine = array((size_t)counts[rank]), *all = array((size_t)end);
    put(mine, (size_t)counts[rank], rank, 0);
    for (int in_place = 0; in_place < 2; in_place++) {
        MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine, counts[rank], MPI_INT64_T, all, counts, starts, MPI_INT64_T, comm);
        for (int from = 0; from < ranks; from++) {
            check(all + starts[from], (size_t)counts[from], from, 0, "MPI_Allgatherv");
            expect(all[starts[from] + counts[from]] == -1, "MPI_Allgatherv writes behind the block of %d", from);
            if (from != rank)
                memset(all + starts[from], 0xff, (size_t)counts[from] * sizeof *all);
        }
    }
    free(mine);
    free(all);
    free(counts);
    free(starts);
}

#ifdef OPEN_MPI
// MPI_Gather and MPI_Scatter of Open MPI 5.0.11 put numbers with gaps at wrong places by some of their own algorithms.
enum { GATHERS_GAPS = 0 };
#else
enum { GATHERS_GAPS = 1 };
#endif

static void check_layout(const int64_t *numbers, size_t count, int rank, size_t first, const char *what)
{
    if (GATHERS_GAPS)
        check_gapped(numbers, count, rank, first, what);
    else
        check(numbers, count, rank, first, what);
}

static void gather_and_scatter(MPI_Comm comm, int root, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    size_t total = count * (size_t)ranks;
    int64_t *mine = array(GAP * count), *all = array(GAP * total), *own = all + count * (size_t)root;
    MPI_Datatype gaps = gapped(), type = GATHERS_GAPS ? gaps : MPI_INT64_T;
    put(mine, count, rank, 0);
    MPI_Gather(mine, (int)count, MPI_INT64_T, rank == root ? all : NULL, (int)count, type, root, comm);
    for (int from = 0; rank == root && from < ranks; from++)
        check_layout(all + (GATHERS_GAPS ? GAP : 1) * count * (size_t)from, count, from, 0, "MPI_Gather");
    memset(all, 0xff, GAP * total * sizeof *all);
    put(own, count, root, 0);
    MPI_Gather(rank == root ? MPI_IN_PLACE : mine, (int)count, MPI_INT64_T, all, (int)count, MPI_INT64_T, root, comm);
    for (int from = 0; rank == root && from < ranks; from++)
        check(all + count * (size_t)from, count, from, 0, "MPI_Gather in place");

    for (int to = 0; to < ranks; to++)
        put(all + count * (size_t)to, count, to, 5);
    memset(mine, 0xff, GAP * count * sizeof *mine);
    MPI_Scatter(rank == root ? all : NULL, (int)count, MPI_INT64_T, mine, (int)count, type, root, comm);
    check_layout(mine, count, rank, 5, "MPI_Scatter");
    memset(mine, 0xff, count * sizeof *mine);
    MPI_Scatter(all, (int)count, MPI_INT64_T, rank == root ? MPI_IN_PLACE : mine, (int)count, MPI_INT64_T, root, comm);
    check(rank == root ? own : mine, count, rank, 5, "MPI_Scatter in place");
    MPI_Type_free(&gaps);
    free(mine);
    free(all);
}

static void alltoall(MPI_Comm comm, size_t count)
{
    int rank = rank_of(comm), ranks = size_of(comm);
    size_t total = count * (size_t)ranks;
    int64_t *out = array(total), *in = array(total);
    for (int to = 0; to < ranks; to++)
        put(out + count * (size_t)to, count, rank, (size_t)to * 11);
    MPI_Alltoall(out, (int)count, MPI_INT64_T, in, (int)count, MPI_INT64_T, comm);
    for (int from = 0; from < ranks; from++)
        check(in + count * (size_t)from, count, from, (size_t)rank * 11, "MPI_Alltoall");
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, (int)count, MPI_INT64_T, comm);
    for (int from = 0; from < ranks; from++)
        check(out + count * (size_t)from, count, from, (size_t)rank * 11, "MPI_Alltoall in place");
    free(out);
    free(in);
}

// Several operations under way at once, while messages pass by calls that wait.
static void nonblocking(MPI_Comm comm, size_t count)
{
    enum { OPERATIONS = 8, BLOCKING = 12 };
    int rank = rank_of(comm), ranks = size_of(comm), root = ranks - 1;
    size_t total = count * (size_t)ranks;
    int64_t *spread = array(GAP * count), *mine = array(count), *reduced = array(count), *summed = array(count);
    int64_t *all = array(total), *exchanged = array(total), *out = array(total), *gathered = array(total);
    int64_t *scattered = array(count), token = value(rank, 99), got = -1;
    MPI_Datatype type = gapped();
    MPI_Request requests[OPERATIONS];
    for (size_t i = 0; rank == root && i < count; i++)
        spread[GAP * i] = value(root, i);
    put(mine, count, rank, 0);
    for (int to = 0; to < ranks; to++)
        put(out + count * (size_t)to, count, rank, (size_t)to * 11);
    MPI_Ibcast(spread, (int)count, type, root, comm, &requests[0]);
    MPI_Type_free(&type);
    MPI_Iallreduce(mine, summed, (int)count, MPI_INT64_T, MPI_SUM, comm, &requests[1]);
    MPI_Iallgather(mine, (int)count, MPI_INT64_T, all, (int)count, MPI_INT64_T, comm, &requests[2]);
    if (rank % 2 == 0)
        MPI_Sendrecv(&token, 1, MPI_INT64_T, (rank + 1) % ranks, 7, &got, 1, MPI_INT64_T, (rank + ranks - 1) % ranks, 7,
                     comm, MPI_STATUS_IGNORE);
    MPI_Ialltoall(out, (int)count, MPI_INT64_T, exchanged, (int)count, MPI_INT64_T, comm, &requests[3]);
    MPI_Ibarrier(comm, &requests[4]);
    if (rank % 2 == 1) {
        MPI_Request request;
        MPI_Isend(&token, 1, MPI_INT64_T, (rank + 1) % ranks, 7, comm, &request);
        MPI_Probe((rank + ranks - 1) % ranks, 7, comm, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT64_T, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(&got, 1, (rank + ranks - 1) % ranks, 99, "a message between");
    MPI_Ireduce(mine, reduced, (int)count, MPI_INT64_T, MPI_SUM, root, comm, &requests[5]);
    MPI_Igather(mine, (int)count, MPI_INT64_T, gathered, (int)count, MPI_INT64_T, root, comm, &requests[6]);
    MPI_Iscatter(out, (int)count, MPI_INT64_T, scattered, (int)count, MPI_INT64_T, 0, comm, &requests[7]);
    // Blocking ones, among those under way: first beside these, then after these.
    for (int i = 0; i < BLOCKING; i++)
        allreduce(comm, 3);
    int done = 0, index;
    MPI_Wait(&requests[6], MPI_STATUS_IGNORE);
    while (!done)
        MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    MPI_Waitany(OPERATIONS, requests, &index, MPI_STATUS_IGNORE);
    expect(index >= 0 && index < OPERATIONS && requests[index] == MPI_REQUEST_NULL, "MPI_Waitany gives %d", index);
    MPI_Status statuses[OPERATIONS];
    MPI_Waitall(OPERATIONS, requests, statuses);
    for (int i = 0; i < OPERATIONS; i++)
        expect(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);
    check_gapped(spread, count, root, 0, "MPI_Ibcast");
    check_sum(summed, count, ranks, "MPI_Iallreduce");
    for (int from = 0; from < ranks; from++) {
        check(all + count * (size_t)from, count, from, 0, "MPI_Iallgather");
        check(exchanged + count * (size_t)from, count, from, (size_t)rank * 11, "MPI_Ialltoall");
        if (rank == root)
            check(gathered + count * (size_t)from, count, from, 0, "MPI_Igather");
    }
    if (rank == root)
        check_sum(reduced, count, ranks, "MPI_Ireduce");
    check(scattered, count, 0, (size_t)rank * 11, "MPI_Iscatter");
    int64_t *arrays[] = {spread, mine, reduced, summed, all, exchanged, out, gathered, scattered};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static void all_of(MPI_Comm comm, const size_t *counts, size_t lengths)
{
    int ranks = size_of(comm);
    for (size_t i = 0; i < lengths; i++) {
        size_t count = counts[i], block = count / (size_t)ranks + 1;
        for (int root = 0; root < ranks; root++) {
            broadcast(comm, root, count);
            reduce(comm, root, count);
            gather_and_scatter(comm, root, block);
        }
        allreduce(comm, count);
        reduce_scatter(comm, block);
        allgather(comm, block);
        allgatherv(comm, block);
        alltoall(comm, block);
        nonblocking(comm, block);
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {1, 37, 5000, MOST}, few[] = {1, 3001};
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int rank = rank_of(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
    MPI_Comm copy, reversed, part;
    // Non-blocking operations first: nothing was made for this communicator yet.
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    nonblocking(copy, 10);
    all_of(copy, few, 2);
    MPI_Comm_free(&copy);
    all_of(MPI_COMM_WORLD, lengths, sizeof lengths / sizeof *lengths);
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2 % 2, rank, &part);
    all_of(reversed, few, 2);
    all_of(part, few, 2);
    MPI_Comm_free(&reversed);
    // Kept until the end.
    all_right();
    (void)part;
    return 0;
}
