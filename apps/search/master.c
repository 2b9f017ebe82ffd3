#include "master.h"

#include "buffer.h" // allocate
#include "comm.h"

#include <limits.h>
#include <stdlib.h>

// A worker asks by sending what it has found; the answer is a unit, or that there is none.
enum { TAG_FOUND, TAG_UNIT, NO_UNIT = -1 };

static void run_alone(struct worker *worker, struct assignment *assignment, struct hits *hits)
{
    struct unit unit;
    while (assignment_next(assignment, 0, &unit))
        worker_search(worker, unit, hits);
}

// Takes what the next worker has found, and returns its rank.
static int receive_found(struct hits *hits)
{
    MPI_Status status;
    comm_probe(MPI_ANY_SOURCE, TAG_FOUND, MPI_COMM_WORLD, &status);
    int count, rank = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_BYTE, &count);
    char *message = allocate((size_t)count);
    comm_recv(message, count, MPI_BYTE, rank, TAG_FOUND, MPI_COMM_WORLD);
    hits_unpack(hits, message);
    free(message);
    return rank;
}

static void run_master(struct assignment *assignment, int workers, struct hits *hits)
{
    while (workers > 0) {
        int rank = receive_found(hits);
        struct unit unit;
        if (!assignment_next(assignment, rank - 1, &unit)) {
            unit = (struct unit){NO_UNIT, NO_UNIT};
            workers--;
        }
        int numbers[2] = {unit.fragment, unit.query};
        comm_send(numbers, 2, MPI_INT, rank, TAG_UNIT, MPI_COMM_WORLD);
    }
}

static void send_found(const struct hits *hits)
{
    struct text message = {0};
    hits_pack(hits, &message);
    if (message.count > INT_MAX)
        session_abort(EXIT_MEMORY, "more hits than fit into a message: use more --fragments");
    comm_send(message.bytes, (int)message.count, MPI_BYTE, 0, TAG_FOUND, MPI_COMM_WORLD);
    text_destroy(&message);
}

static void run_worker(struct worker *worker)
{
    struct hits found = {0};
    for (;;) {
        int numbers[2];
        send_found(&found);
        hits_destroy(&found);
        comm_recv(numbers, 2, MPI_INT, 0, TAG_UNIT, MPI_COMM_WORLD);
        if (numbers[0] == NO_UNIT)
            return;
        worker_search(worker, (struct unit){numbers[0], numbers[1]}, &found);
    }
}

void master_run(struct worker *worker, int rank, int ranks, struct hits *hits)
{
    if (rank > 0) {
        run_worker(worker);
        return;
    }
    int workers = ranks > 1 ? ranks - 1 : 1;
    struct assignment assignment =
        assignment_create(worker->database->fragment_count, (int)worker->queries->proteins.count,
                          workers);
    if (ranks == 1)
        run_alone(worker, &assignment, hits);
    else
        run_master(&assignment, workers, hits);
    assignment_destroy(&assignment);
    hits_sort(hits);
}
