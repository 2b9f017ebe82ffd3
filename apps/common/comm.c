#include "comm.h"

static struct comm_totals totals;

void comm_reset(void)
{
    totals = (struct comm_totals){0};
}

struct comm_totals comm_totals(void)
{
    return totals;
}

static uint64_t bytes_of(int count, MPI_Datatype type)
{
    int size;
    MPI_Type_size(type, &size);
    return (uint64_t)count * (uint64_t)size;
}

static void count_message(int count, MPI_Datatype type, int to)
{
    if (to == MPI_PROC_NULL)
        return;
    totals.messages++;
    totals.bytes += bytes_of(count, type);
}

static void count_collective(uint64_t bytes)
{
    totals.collectives++;
    totals.collective_bytes += bytes;
}

// Around each call of MPI. Errors end the job, as MPI does unless told otherwise.
#define TIMED(call)                                                                                \
    do {                                                                                           \
        double start = MPI_Wtime();                                                                \
        call;                                                                                      \
        totals.seconds += MPI_Wtime() - start;                                                     \
    } while (0)

void comm_send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count_message(count, type, to);
    TIMED(MPI_Send(data, count, type, to, tag, comm));
}

void comm_recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm)
{
    TIMED(MPI_Recv(data, count, type, from, tag, comm, MPI_STATUS_IGNORE));
}

void comm_isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    count_message(count, type, to);
    TIMED(MPI_Isend(data, count, type, to, tag, comm, request));
}

void comm_irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    TIMED(MPI_Irecv(data, count, type, from, tag, comm, request));
}

void comm_wait(MPI_Request *request)
{
    TIMED(MPI_Wait(request, MPI_STATUS_IGNORE));
}

void comm_waitall(int count, MPI_Request *requests)
{
    TIMED(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

void comm_sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                   void *received, int receive_count, MPI_Datatype receive_type, int from,
                   int receive_tag, MPI_Comm comm)
{
    count_message(send_count, send_type, to);
    TIMED(MPI_Sendrecv(sent, send_count, send_type, to, send_tag, received, receive_count,
                       receive_type, from, receive_tag, comm, MPI_STATUS_IGNORE));
}

void comm_barrier(MPI_Comm comm)
{
    count_collective(0);
    TIMED(MPI_Barrier(comm));
}

void comm_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    count_collective(rank == root ? bytes_of(count, type) : 0);
    TIMED(MPI_Bcast(data, count, type, root, comm));
}

void comm_reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                 int root, MPI_Comm comm)
{
    count_collective(bytes_of(count, type));
    TIMED(MPI_Reduce(sent, received, count, type, op, root, comm));
}

void comm_allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm)
{
    count_collective(bytes_of(count, type));
    TIMED(MPI_Allreduce(sent, received, count, type, op, comm));
}

void comm_alltoall(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    // In place, what is received says how much was sent.
    uint64_t block = sent == MPI_IN_PLACE ? bytes_of(receive_count, receive_type)
                                          : bytes_of(send_count, send_type);
    count_collective((uint64_t)ranks * block);
    TIMED(MPI_Alltoall(sent, send_count, send_type, received, receive_count, receive_type, comm));
}

void comm_alltoallv(const void *sent, const int *send_counts, const int *send_offsets,
                    MPI_Datatype send_type, void *received, const int *receive_counts,
                    const int *receive_offsets, MPI_Datatype receive_type, MPI_Comm comm)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    uint64_t bytes = 0;
    for (int i = 0; i < ranks; i++)
        bytes += bytes_of(send_counts[i], send_type);
    count_collective(bytes);
    TIMED(MPI_Alltoallv(sent, send_counts, send_offsets, send_type, received, receive_counts,
                        receive_offsets, receive_type, comm));
}

void comm_gatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                  const int *receive_counts, const int *receive_offsets, MPI_Datatype receive_type,
                  int root, MPI_Comm comm)
{
    count_collective(bytes_of(send_count, send_type));
    TIMED(MPI_Gatherv(sent, send_count, send_type, received, receive_counts, receive_offsets,
                      receive_type, root, comm));
}

void comm_allgatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                     const int *receive_counts, const int *receive_offsets,
                     MPI_Datatype receive_type, MPI_Comm comm)
{
    count_collective(bytes_of(send_count, send_type));
    TIMED(MPI_Allgatherv(sent, send_count, send_type, received, receive_counts, receive_offsets,
                         receive_type, comm));
}

void comm_probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    TIMED(MPI_Probe(from, tag, comm, status));
}

int comm_file_read_at(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                      MPI_Status *status)
{
    int code;
    TIMED(code = MPI_File_read_at(file, offset, data, count, type, status));
    if (code == MPI_SUCCESS)
        totals.file_bytes += bytes_of(count, type);
    return code;
}
