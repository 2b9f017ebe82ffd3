// Sessions without MPI_Init: 100 reductions on a communicator of all processes, made from a group, and 10 messages on one of
// them in reverse; then, with `twice`, MPI again.
#include "common.h"

static void session(bool is_again)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, reverse;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    int rank, size, sum = 0, in = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_split(comm, 0, -rank, &reverse);
    int own;
    MPI_Comm_rank(reverse, &own);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (own + 1) % size, i, &in, 1, MPI_INT, (own + size - 1) % size, i, reverse,
                     MPI_STATUS_IGNORE);
    if (sum != size * (size - 1) / 2 || in != (rank + 1) % size) {
        fprintf(stderr, "not as expected: %d, %d\n", sum, in);
        exit(1);
    }
    if (rank == 0 && !is_again)
        puts("all right");
    MPI_Comm_free(&reverse);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    (void)argv;
    session(false);
    if (argc > 1)
        session(true);
    return 0;
}
