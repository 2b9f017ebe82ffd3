// Starts two more processes, exchanges messages with them, also from whoever sends, and broadcasts to them, on an
// intercommunicator and on one of all.
#include "common.h"

enum { CHILDREN = 2, BYTES = 1000 };

static void work(MPI_Comm others, bool is_parent)
{
    char buffer[BYTES] = {0};
    MPI_Request request;
    MPI_Comm all;
    if (is_parent) {
        for (int i = 0; i < CHILDREN; i++) {
            MPI_Irecv(buffer, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, others, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < CHILDREN; i++)
            MPI_Send(buffer, BYTES, MPI_BYTE, i, 2, others);
    } else {
        MPI_Send(buffer, BYTES, MPI_BYTE, 0, 1, others);
        MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 2, others, MPI_STATUS_IGNORE);
    }
    MPI_Intercomm_merge(others, !is_parent, &all);
    MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_disconnect(&others);
}

int main(int argc, char **argv)
{
    MPI_Comm others;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&others);
    bool is_parent = others == MPI_COMM_NULL;
    if (is_parent)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others, MPI_ERRCODES_IGNORE);
    work(others, is_parent);
    if (is_parent)
        all_right();
    else
        MPI_Finalize();
    return 0;
}
