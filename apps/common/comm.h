// MPI as the programs use it: the same arguments, timed and counted.
//
// Functions of our own rather than PMPI, which profilers of these programs use.
#ifndef FISHPLATE_APPS_COMM_H
#define FISHPLATE_APPS_COMM_H

#include <mpi.h>
#include <stdint.h>

// Of this rank, since comm_reset.
struct comm_totals {
    double seconds; // inside MPI calls
    uint64_t messages; // sends between two ranks
    uint64_t bytes; // in them
    uint64_t collectives; // calls of collective operations
    uint64_t collective_bytes; // that this rank put into them
    uint64_t file_bytes; // read from files
};

void comm_reset(void);
struct comm_totals comm_totals(void);

void comm_send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
void comm_recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm);
void comm_isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                MPI_Request *request);
void comm_irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request *request);
void comm_wait(MPI_Request *request);
void comm_waitall(int count, MPI_Request *requests);
void comm_sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                   void *received, int receive_count, MPI_Datatype receive_type, int from,
                   int receive_tag, MPI_Comm comm);

// `sent` may be MPI_IN_PLACE where MPI allows it.
void comm_barrier(MPI_Comm comm);
void comm_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
void comm_reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                 int root, MPI_Comm comm);
void comm_allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm);
// Counts are for each rank, as in MPI.
void comm_alltoall(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
void comm_alltoallv(const void *sent, const int *send_counts, const int *send_offsets,
                    MPI_Datatype send_type, void *received, const int *receive_counts,
                    const int *receive_offsets, MPI_Datatype receive_type, MPI_Comm comm);
void comm_gatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                  const int *receive_counts, const int *receive_offsets, MPI_Datatype receive_type,
                  int root, MPI_Comm comm);
void comm_allgatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                     const int *receive_counts, const int *receive_offsets,
                     MPI_Datatype receive_type, MPI_Comm comm);

// The next message, without receiving it.
void comm_probe(int from, int tag, MPI_Comm comm, MPI_Status *status);

// Timed, and its bytes counted apart: what a file system sends is its own. Returns MPI's error code.
int comm_file_read_at(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                      MPI_Status *status);

#endif
