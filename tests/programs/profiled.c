// What a profile is held against: calls whose number and size are known, and ends of all kinds.
//
//     profiled counts     a known number of calls of many kinds
//     profiled wait       rank 0 keeps the others waiting, for ever if nobody ends it
//     profiled exit       ends without MPI_Finalize
//     profiled abort      calls MPI_Abort(7)
//     profiled fork       forks; the child ends by exit()
//     profiled pcontrol   has part of it left out
//     profiled threads    has four threads in MPI at once
#include "common.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 10, THREADS = 4 };

static char out[1 << 16], in[1 << 16];

static int next_rank(void)
{
    return (rank_of(MPI_COMM_WORLD) + 1) % size_of(MPI_COMM_WORLD);
}

static int previous_rank(void)
{
    int size = size_of(MPI_COMM_WORLD);
    return (rank_of(MPI_COMM_WORLD) + size - 1) % size;
}

static void exchange(int bytes, int tag)
{
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof in, MPI_CHAR, previous_rank(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, next_rank(), tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// Blocking calls: 100 doubles to the next rank by MPI_Sendrecv, and 3 bytes from rank 0 to rank 1, probed.
static void point_to_point(void)
{
    MPI_Sendrecv(out, 100, MPI_DOUBLE, next_rank(), 1, in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (rank_of(MPI_COMM_WORLD) == 0)
        MPI_Send(out, 3, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 1) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 100, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
    MPI_Send(out, 5, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
}

// Twice 7 bytes to the next rank.
static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Send_init(out, 7, MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 7, MPI_BYTE, previous_rank(), 4, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        for (int done = 0, index; done < 2; done++)
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

// On a communicator of all ranks in reverse order: 4 bytes by MPI_Bcast from its first rank, 8 by MPI_Allreduce,
// rank + 1 bytes of each rank by MPI_Allgatherv, 16 to each by MPI_Alltoall in place.
static void collective(void)
{
    MPI_Comm reverse;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &reverse);
    MPI_Comm_set_name(reverse, "reverse");
    int counts[64], starts[64], size = size_of(reverse);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        starts[i] = i * 64;
    }
    MPI_Request request;
    double value = 1, sum;
    MPI_Bcast(out, 4, MPI_BYTE, 0, reverse);
    MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, reverse, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allgatherv(out, rank_of(reverse) + 1, MPI_BYTE, in, counts, starts, MPI_BYTE, reverse);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 16, MPI_BYTE, MPI_COMM_WORLD);
    exchange(9, 5);
    MPI_Comm_free(&reverse);
}

static void one_sided(void)
{
    MPI_Win window;
    int *memory, value = 5;
    MPI_Win_allocate(sizeof(int) * 4, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void counts(void)
{
    for (int i = 0; i < ROUNDS; i++)
        exchange(1000, i);
    point_to_point();
    persistent();
    collective();
    one_sided();
}

// The marker tells a test that all others wait.
static void wait_for_ever(void)
{
    exchange(1000, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0) {
        printf("pid %d\n", (int)getpid());
        fflush(stdout);
        for (;;)
            pause();
    }
    MPI_Recv(in, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void fork_child(void)
{
    exchange(1000, 0);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    int status;
    waitpid(child, &status, 0);
    expect(status == 0, "the child has ended with %d", status);
    exchange(1000, 1);
}

static void with_pause(void)
{
    exchange(1000, 0);
    MPI_Pcontrol(0);
    exchange(1000, 1);
    MPI_Pcontrol(1);
    exchange(1000, 2);
}

// Each thread sends 20 bytes to the next rank, a hundred times.
static void *send_and_receive(void *tag)
{
    char sent[20], received[20];
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(sent, sizeof sent, MPI_BYTE, next_rank(), *(int *)tag, received, sizeof received, MPI_BYTE,
                     previous_rank(), *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(void)
{
    pthread_t started[THREADS];
    int tags[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tags[i] = i;
        pthread_create(&started[i], NULL, send_and_receive, &tags[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(started[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "counts";
    int provided;
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"counts", counts}, {"wait", wait_for_ever}, {"fork", fork_child}, {"pcontrol", with_pause},
               {"threads", threads}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].name) == 0)
            all[i].run();
    if (strcmp(what, "exit") == 0) {
        exchange(1000, 0);
        // The launcher may kill those that end later.
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    if (strcmp(what, "abort") == 0) {
        exchange(1000, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    if (rank_of(MPI_COMM_WORLD) == 0)
        puts("all right");
    MPI_Finalize();
    return 0;
}
