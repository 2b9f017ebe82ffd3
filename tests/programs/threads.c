// MPI_THREAD_MULTIPLE: threads of every rank exchange messages at once, each on a communicator of its own and all
// together on one.
#include "common.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 150, MOST = 300000 };

struct worker {
    int number;
    MPI_Comm own;
};

static size_t length(int round)
{
    static const size_t lengths[] = {0, 1, 64, 1000, 8192, 65536, 65537, MOST};
    return lengths[(size_t)round % (sizeof lengths / sizeof *lengths)];
}

static uint64_t key(int source, int worker, int round)
{
    return ((uint64_t)source * THREADS + (uint64_t)worker) * ROUNDS + (uint64_t)round;
}

// One message to the next rank, one from the rank before.
static void exchange(MPI_Comm comm, int worker, int round, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(comm), size = size_of(comm);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    size_t bytes = length(round);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(out, bytes, key(rank, worker, round));
    MPI_Irecv(in, MOST, MPI_BYTE, before, worker, comm, &requests[0]);
    MPI_Isend(out, (int)bytes, MPI_BYTE, next, worker, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    expect(received(&statuses[0]) == bytes, "thread %d got %zu bytes instead of %zu", worker,
           received(&statuses[0]), bytes);
    verify(in, bytes, key(before, worker, round));
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    unsigned char *out = allocate(MOST), *in = allocate(MOST);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm = round % 2 == 0 ? worker->own : MPI_COMM_WORLD;
        exchange(comm, worker->number, round, out, in);
        if (round % 50 == 0) {
            int sum = 0, one = 1;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, worker->own);
            expect(sum == size_of(worker->own), "a sum over %d ranks is %d", size_of(worker->own), sum);
        }
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "MPI gives thread level %d", provided);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].own);
    }
    for (int i = 0; i < THREADS; i++)
        expect(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread can be started");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&workers[i].own);
    }
    all_right();
}
