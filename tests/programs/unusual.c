// What a recorder easily takes for something else, each as a program may do it: requests that are cancelled and freed,
// buffered and synchronous sends, messages of more than 2 GiB, communicators that are made without the others, recording
// that is switched off; arguments that do not count, operations between two groups, messages that are cut off, collective
// operations that are waited for in another order; messages that were found and are received after others, requests that are
// looked at and freed, threads that call MPI while they end, requests that are freed while they are under way, functions of the
// program that MPI calls and that communicate, also while MPI ends. On two ranks or more; the first two exchange.
//
//     unusual cancel | buffered | long | communicators | paused | ignored | between | truncated | begun | probed | looked |
//             ending | freed | called | last
#define _GNU_SOURCE
#include "common.h"

#include <pthread.h>
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
    // One that is waited for later.
    MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, other, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    to_other(100, 9, MPI_COMM_WORLD);
    to_other(200, 9, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], &status);
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
#ifdef MPI_BUFFER_AUTOMATIC
    // What is in the buffer of one communicator does not keep the other's from being empty.
    MPI_Comm full, empty;
    MPI_Comm_dup(MPI_COMM_WORLD, &full);
    MPI_Comm_dup(MPI_COMM_WORLD, &empty);
    MPI_Comm_attach_buffer(full, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Comm_attach_buffer(empty, MPI_BUFFER_AUTOMATIC, 0);
    if (rank == 0)
        MPI_Bsend(out, 10, MPI_BYTE, 1, 5, full);
    MPI_Comm_flush_buffer(empty);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(in, 10, MPI_BYTE, 0, 5, full, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(full, &detached, &size);
    MPI_Comm_detach_buffer(empty, &detached, &size);
    MPI_Comm_free(&full);
    MPI_Comm_free(&empty);
#endif
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

// Where nothing is, also for the compiler.
static int *volatile nowhere = (int *)16;

// What does not count on a rank is anything: only the root needs places and sizes of all.
static void ignored(void)
{
    enum { PART = 10, MOST = 64 };
    static char all[MOST * PART], one[PART];
    int counts[MOST], places[MOST];
    MPI_Datatype nonsense;
    memset(&nonsense, 0x5a, sizeof nonsense);
    for (int i = 0; i < MOST; i++) {
        counts[i] = PART;
        places[i] = PART * i;
    }
    bool is_root = rank == 0;
    void *in_all = is_root ? (void *)all : nowhere;
    int *in_counts = is_root ? counts : nowhere, *in_places = is_root ? places : nowhere;
    MPI_Datatype in_type = is_root ? MPI_BYTE : nonsense;
    MPI_Gatherv(one, PART, MPI_BYTE, in_all, in_counts, in_places, in_type, 0, MPI_COMM_WORLD);
    MPI_Scatterv(in_all, in_counts, in_places, in_type, one, PART, MPI_BYTE, 0, MPI_COMM_WORLD);
    // The root's own part stays where it is.
    void *own = is_root ? MPI_IN_PLACE : (void *)one;
    int own_count = is_root ? 77 : PART;
    MPI_Datatype own_type = is_root ? nonsense : MPI_BYTE;
    MPI_Gatherv(own, own_count, own_type, in_all, in_counts, in_places, in_type, 0, MPI_COMM_WORLD);
    MPI_Scatterv(in_all, in_counts, in_places, in_type, own, own_count, own_type, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 77, nonsense, all, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, nowhere, nowhere, nonsense, all, counts, places, MPI_BYTE, MPI_COMM_WORLD);
}

// Between rank 0 and all others.
static void between(void)
{
    char buffer[100], all[100];
    MPI_Comm group, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 0, 1, &both);
    if (rank == 0)
        MPI_Send(buffer, 5, MPI_BYTE, 0, 2, both);
    if (rank == 1)
        MPI_Recv(buffer, 5, MPI_BYTE, 0, 2, both, MPI_STATUS_IGNORE);
    MPI_Bcast(buffer, 7, MPI_BYTE, rank == 0 ? MPI_ROOT : 0, both);
    MPI_Gather(buffer, 3, MPI_BYTE, all, 3, MPI_BYTE, rank == 0 ? MPI_ROOT : 0, both);
    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
}

// Messages for which there is less room: the errors are returned, and the messages are gone.
static void truncated(void)
{
    static char buffer[1 << 20];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int bytes = 100; bytes <= 1 << 20; bytes = bytes == 100 ? 1 << 20 : 1 << 21) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 3, comm);
        if (rank == 1)
            expect(MPI_Recv(buffer, 10, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS, "no error");
    }
    to_other(20, 3, comm);
    MPI_Comm_free(&comm);
}

// Collective operations that are begun in one order, and waited for in another one on each rank.
static void begun(void)
{
    enum { OPERATIONS = 4 };
    static char buffer[1000];
    int in[OPERATIONS], out[OPERATIONS] = {0};
    MPI_Request requests[OPERATIONS];
    for (int turn = 0; turn < TIMES; turn++) {
        MPI_Iallreduce(&out[0], &in[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibcast(buffer, sizeof buffer, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
        MPI_Iallreduce(&out[3], &in[3], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
        for (int i = 0; i < OPERATIONS; i++)
            MPI_Wait(&requests[(i + rank + turn) % OPERATIONS], MPI_STATUS_IGNORE);
    }
}

// A message that was found is out of the way of others: what is received before it was sent after it.
static void probed(void)
{
    enum { MESSAGES = 4 };
    char buffer[100];
    MPI_Message found[2];
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    if (rank == 0)
        for (int i = 1; i <= MESSAGES; i++)
            MPI_Send(buffer, i, MPI_BYTE, 1, 11, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Mprobe(0, 11, MPI_COMM_WORLD, &found[0], MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &found[1], MPI_STATUS_IGNORE);
        MPI_Recv(buffer, sizeof buffer, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Imrecv(buffer, sizeof buffer, MPI_BYTE, &found[1], &request);
        MPI_Recv(buffer, sizeof buffer, MPI_BYTE, 0, 11, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, &status);
        MPI_Mrecv(buffer, sizeof buffer, MPI_BYTE, &found[0], &status);
        int bytes;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        expect(bytes == 1, "the first message has %d B", bytes);
    }
    MPI_Mprobe(MPI_PROC_NULL, 11, MPI_COMM_WORLD, &found[0], MPI_STATUS_IGNORE);
    MPI_Mrecv(buffer, sizeof buffer, MPI_BYTE, &found[0], MPI_STATUS_IGNORE);
}

// Requests that are only looked at until they are complete, and then freed or waited for.
static void looked(void)
{
    char buffer[100];
    for (int turn = 0; turn < TIMES; turn++) {
        if (rank == 0)
            MPI_Send(buffer, 30, MPI_BYTE, 1, 12, MPI_COMM_WORLD);
        if (rank != 1)
            continue;
        MPI_Request request;
        int flag = 0;
        MPI_Irecv(buffer, sizeof buffer, MPI_BYTE, turn % 2 ? 0 : MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        if (turn % 3 == 0)
            MPI_Request_free(&request);
        else
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void say_goodbye(void *unused)
{
    (void)unused;
    char out[7] = {0}, in[7];
    MPI_Sendrecv(out, 7, MPI_BYTE, rank, 13, in, 7, MPI_BYTE, rank, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *brief(void *key)
{
    expect(pthread_setspecific(*(pthread_key_t *)key, key) == 0, "no value");
    return NULL;
}

// A thread that calls MPI when all that is its own has gone.
static void ending(void)
{
    pthread_key_t key;
    pthread_t thread;
    expect(pthread_key_create(&key, say_goodbye) == 0 && pthread_create(&thread, NULL, brief, &key) == 0, "no thread");
    pthread_join(thread, NULL);
}

// Requests that are freed at once: what they do goes on.
static void freed(void)
{
    static char out[1 << 18], in[1 << 18];
    MPI_Request requests[4];
    if (rank < 2)
        for (int bytes = 10; bytes <= 1 << 18; bytes = bytes == 10 ? 1 << 18 : 1 << 19) {
            MPI_Irecv(in, bytes, MPI_BYTE, other, 14, MPI_COMM_WORLD, &requests[0]);
            MPI_Recv_init(in, 20, MPI_BYTE, other, 15, MPI_COMM_WORLD, &requests[1]);
            MPI_Isend(out, bytes, MPI_BYTE, other, 14, MPI_COMM_WORLD, &requests[2]);
            MPI_Ssend_init(out, 20, MPI_BYTE, other, 15, MPI_COMM_WORLD, &requests[3]);
            MPI_Start(&requests[1]);
            MPI_Start(&requests[3]);
            for (int i = 0; i < 4; i++)
                MPI_Request_free(&requests[i]);
            // By its number the second one, of both tags.
            for (int tag = 14; tag < 16; tag++)
                MPI_Sendrecv(out, 30, MPI_BYTE, other, tag, in, 30, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

// To itself, by two calls.
static void to_itself(MPI_Comm comm, int tag)
{
    int own;
    char out[5] = {0}, in[5];
    MPI_Request request;
    MPI_Comm_rank(comm, &own);
    MPI_Irecv(in, 5, MPI_BYTE, own, tag, comm, &request);
    MPI_Send(out, 5, MPI_BYTE, own, tag, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void answer(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    to_itself(MPI_COMM_WORLD, 16);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    to_itself(MPI_COMM_SELF, 17);
}

static int say(MPI_Comm comm, int key, void *value, void *unused)
{
    (void)comm;
    (void)key;
    (void)unused;
    to_itself(*(MPI_Comm *)value, 18);
    return MPI_SUCCESS;
}

// Functions of the program that communicate while MPI is in the function by which they do so: an error handler, an operation,
// that of an attribute.
static void called(void)
{
    MPI_Comm comm, copy;
    MPI_Errhandler handler;
    MPI_Op op;
    int key, value = 1, sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(answer, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Send(&value, 1, MPI_INT, 99, 0, comm);
    // MPICH returns no error where the handler returns.
    MPI_Sendrecv(&value, 1, MPI_INT, 99, 0, &sum, 1, MPI_INT, 99, 0, comm, MPI_STATUS_IGNORE);
    MPI_Bcast(&sum, 1, MPI_INT, 99, comm);
    MPI_Errhandler_free(&handler);
    MPI_Op_create(add, 1, &op);
    MPI_Reduce(&value, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say, &key, NULL);
    MPI_Comm_set_attr(comm, key, &copy);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&copy);
}

static MPI_Request late = MPI_REQUEST_NULL;

static int meet(MPI_Comm comm, int key, void *value, void *unused)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)unused;
    static char buffer[40];
    if (rank == 1)
        MPI_Recv(buffer, 40, MPI_BYTE, 0, 19, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

// What was sent before MPI_Finalize is received in it.
static void last(void)
{
    static char buffer[40];
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meet, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    if (rank == 0)
        MPI_Issend(buffer, 40, MPI_BYTE, 1, 19, MPI_COMM_WORLD, &late);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    rank = rank_of(MPI_COMM_WORLD);
    other = rank < 2 ? 1 - rank : rank;
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"cancel", cancel}, {"buffered", buffered}, {"long", long_message}, {"communicators", communicators},
               {"paused", paused}, {"ignored", ignored}, {"between", between}, {"truncated", truncated}, {"begun", begun},
               {"probed", probed}, {"looked", looked}, {"ending", ending}, {"freed", freed}, {"called", called},
               {"last", last}};
    for (int at = 1; at < argc; at++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strcmp(argv[at], all[i].name) == 0)
                all[i].run();
    all_right();
}
