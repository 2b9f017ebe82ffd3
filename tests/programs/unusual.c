// What a recorder easily takes for something else, each as a program may do it: requests that are cancelled and freed,
// buffered and synchronous sends, messages of more than 2 GiB, communicators that are made without the others, recording
// that is switched off. On two ranks or more; the first two exchange.
//
//     unusual cancel | buffered | long | communicators | paused
#define _GNU_SOURCE
#include "common.h"

#include <sys/mman.h>
#include <unistd.h>

enum { BUFFERED = 1 << 22, MIB = 1 << 20, LONG_MIB = 2300, TIMES = 20, LATE_US = 10000 };

static int rank;
// Of the first two.
static int other;

static void to_other(int bytes, int tag, MPI_Comm comm)
{
    static char buffer[1000];
    if (rank == 0)
        MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, comm);
    if (rank == 1)
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE);
}

// Receives that get nothing, although messages with their tags follow.
static void cancel(void)
{
    char buffer[1000];
    MPI_Request requests[4];
    MPI_Status status;
    int cancelled;
    MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, other, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(buffer, sizeof buffer, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &requests[3]);
    MPI_Start(&requests[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        MPI_Cancel(&requests[i]);
    MPI_Request_free(&requests[3]);
    for (int i = 0; i < 3; i++) {
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &cancelled);
        expect(cancelled, "request %d was not cancelled", i);
    }
    MPI_Request_free(&requests[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    to_other(100, 9, MPI_COMM_WORLD);
    to_other(200, 9, MPI_COMM_WORLD);
}

// Both send before they receive: what is buffered does not wait for its receiver.
static void buffered(void)
{
    static char out[BUFFERED], in[BUFFERED];
    MPI_Request request;
    int size = 4 * (BUFFERED + MPI_BSEND_OVERHEAD);
    void *memory = allocate((size_t)size), *detached;
    MPI_Buffer_attach(memory, size);
    if (rank < 2) {
        MPI_Bsend(out, BUFFERED, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        MPI_Ibsend(out, BUFFERED, MPI_BYTE, other, 2, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Bsend_init(out, BUFFERED, MPI_BYTE, other, 3, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        for (int tag = 3; tag > 0; tag--)
            MPI_Recv(in, BUFFERED, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(in, 1, MPI_BYTE, other, 4, MPI_COMM_WORLD, &request);
        MPI_Ssend(out, 1, MPI_BYTE, other, 4, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_detach(&detached, &size);
    free(memory);
}

// One element of 2300 MiB, all of which is in one MiB of memory.
static void long_message(void)
{
    char *memory = mmap(NULL, (size_t)LONG_MIB * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int file = memfd_create("MiB", 0);
    expect(memory != MAP_FAILED && ftruncate(file, MIB) == 0, "no memory");
    for (size_t i = 0; i < LONG_MIB; i++)
        expect(mmap(memory + i * MIB, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED, "no map");
    MPI_Datatype mib, all;
    MPI_Type_contiguous(MIB, MPI_BYTE, &mib);
    MPI_Type_contiguous(LONG_MIB, mib, &all);
    MPI_Type_commit(&all);
    if (rank == 0)
        MPI_Send(memory, 1, all, 1, 5, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(memory, 1, all, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&all);
    MPI_Type_free(&mib);
}

// Copies of two communicators, begun in another order on each rank, and used in another one still; one of some ranks alone.
static void communicators(void)
{
    MPI_Comm parent, copies[2], pair;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    for (int i = 0; i < 2; i++) {
        int which = rank == 0 ? i : 1 - i;
        MPI_Comm_idup(which == 0 ? parent : MPI_COMM_WORLD, &copies[which], &requests[which]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request sent;
    char buffer[300];
    if (rank == 0) {
        MPI_Issend(buffer, 200, MPI_BYTE, 1, 6, copies[1], &sent);
        MPI_Ssend(buffer, 100, MPI_BYTE, 1, 6, copies[0]);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    if (rank == 1)
        for (int i = 0; i < 2; i++)
            MPI_Recv(buffer, 100 * (i + 1), MPI_BYTE, 0, 6, copies[i], MPI_STATUS_IGNORE);
    if (rank < 2) {
        MPI_Group all, two;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 2, (int[]){1, 0}, &two);
        MPI_Comm_create_group(MPI_COMM_WORLD, two, 3, &pair);
        MPI_Barrier(pair);
        MPI_Comm_free(&pair);
        MPI_Group_free(&two);
        MPI_Group_free(&all);
    }
    MPI_Comm_free(&copies[0]);
    MPI_Comm_free(&copies[1]);
    MPI_Comm_free(&parent);
}

// What is made and started while recording is off is used when it is on again, and messages are known by their numbers.
static void paused(void)
{
    for (int i = 0; i < TIMES; i++)
        to_other(10, 7, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    MPI_Comm copy;
    MPI_Request request = MPI_REQUEST_NULL;
    char buffer[100];
    to_other(10, 7, MPI_COMM_WORLD);
    to_other(10, 7, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 1)
        MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &request);
    MPI_Pcontrol(1);
    if (rank == 0)
        MPI_Send(buffer, 50, MPI_BYTE, 1, 8, copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0)
            usleep(LATE_US);
        to_other(10, 7, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    other = rank < 2 ? 1 - rank : rank;
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"cancel", cancel}, {"buffered", buffered}, {"long", long_message}, {"communicators", communicators},
               {"paused", paused}};
    for (int at = 1; at < argc; at++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strcmp(argv[at], all[i].name) == 0)
                all[i].run();
    all_right();
}
