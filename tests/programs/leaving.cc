// Calls of MPI that are left without returning, and calls within calls: error handlers that throw, that jump away, that
// end their thread; an attribute's callback that frees another communicator, whose handle MPI gives out again.
//
// Each rank makes 5 calls of MPI_Bcast that fail, and 2 of MPI_Send, and then 7 exchanges by MPI_Sendrecv that do not.
#include <initializer_list>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <pthread.h>

namespace {

enum class Way { Throw, Jump, Exit };

Way way;
std::jmp_buf place;
int destroyed;

struct Guard {
    ~Guard() { destroyed++; }
};

void require(bool holds, const char *what)
{
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}

void leave(MPI_Comm *, int *code, ...)
{
    if (way == Way::Jump)
        std::longjmp(place, *code);
    if (way == Way::Exit)
        pthread_exit(nullptr);
    throw *code;
}

void broadcast(MPI_Comm comm)
{
    Guard guard;
    int value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 99, comm);
    require(false, "MPI_Bcast has returned");
}

void send(MPI_Comm comm)
{
    Guard guard;
    int value = 0;
    MPI_Send(&value, 1, MPI_INT, 99, 0, comm);
    require(false, "MPI_Send has returned");
}

// Its frame lies below that of a call that was left.
void exchange(MPI_Comm comm)
{
    volatile char below[4096];
    below[0] = 0;
    int rank, size, in = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &in, 1, MPI_INT, (rank + size - 1) % size, 7, comm,
                 MPI_STATUS_IGNORE);
    require(in == (rank + size - 1) % size + below[0], "the rank before has sent its number");
}

void throwing(MPI_Comm comm)
{
    way = Way::Throw;
    int caught = 0;
    for (auto call : {broadcast, send})
        try {
            call(comm);
        } catch (int code) {
            caught += code != 0;
        }
    require(caught == 2 && destroyed == 2, "two exceptions were caught, and what they passed was destroyed");
    exchange(comm);
}

void jumping(MPI_Comm comm)
{
    way = Way::Jump;
    for (volatile int i = 0; i < 3; i = i + 1)
        if (setjmp(place) == 0) {
            int value = 0;
            MPI_Bcast(&value, 1, MPI_INT, 99, comm);
        } else {
            exchange(comm);
        }
}

void *thread(void *comm)
{
    broadcast(*static_cast<MPI_Comm *>(comm));
    return nullptr;
}

void exiting(MPI_Comm comm)
{
    way = Way::Exit;
    int before = destroyed;
    pthread_t started;
    pthread_create(&started, nullptr, thread, &comm);
    pthread_join(started, nullptr);
    require(destroyed == before + 1, "what a thread has on its stack was destroyed");
    way = Way::Throw;
    try {
        send(comm);
    } catch (int) {
    }
    exchange(comm);
}

int free_other(MPI_Comm, int, void *other, void *)
{
    int code = MPI_Comm_free(static_cast<MPI_Comm *>(other));
    destroyed += code == MPI_SUCCESS;
    return code;
}

void freeing()
{
    int key, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_other, &key, nullptr);
    MPI_Comm a, b, reverse, again;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    MPI_Comm_set_name(b, "freed by another");
    MPI_Comm_set_attr(a, key, &b);
    exchange(b);
    MPI_Comm_free(&a);
    // These get the handles of the two that are gone.
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reverse);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &again);
    MPI_Comm_set_name(reverse, "in reverse");
    exchange(reverse);
    if (rank != 0 || size > 2)
        MPI_Comm_set_name(again, "again");
    MPI_Comm_free(&reverse);
    MPI_Comm_free(&again);
    MPI_Comm_free_keyval(&key);
}

} // namespace

int main(int argc, char **argv)
{
    int provided;
    // One thread at a time: MPICH keeps a lock where an error handler does not return.
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    throwing(comm);
    jumping(comm);
    exiting(comm);
    freeing();
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        std::puts("all right");
    MPI_Finalize();
}
