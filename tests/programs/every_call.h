// What tests/mpi/every_call.py begins its program with: the places that its calls read and write, and callbacks.
#ifndef FISHPLATE_TESTS_EVERY_CALL_H
#define FISHPLATE_TESTS_EVERY_CALL_H

#include <mpi.h>
#include <stdio.h>

static char out[4096], in[4096], room[1 << 16];
static int two[2] = {10, 20}, same[2] = {10, 10}, at[2] = {0, 40}, zero[2] = {0, 0}, which[2], found, flag;
static int dims[1] = {2}, ones[1] = {1}, graph_index[2] = {1, 2}, graph_edges[2] = {1, 0};
static MPI_Count two_c[2] = {10, 20}, same_c[2] = {10, 10};
static MPI_Aint at_c[2] = {0, 40};
static void *detached, *memory;
static int detached_size;
static MPI_Count detached_size_c;
static MPI_Datatype types[2];
static MPI_Request request, requests[2];
static MPI_Status status, statuses[2];
static MPI_Message message;
static MPI_Comm world, comm, cart, made, inter;
static MPI_Group group, own;
static MPI_Win window;
static MPI_File file;
static MPI_Session session;
static int rank, other;

static int query(void *extra, MPI_Status *of)
{
    (void)extra;
    MPI_Status_set_elements(of, MPI_BYTE, 0);
    MPI_Status_set_cancelled(of, 0);
    of->MPI_SOURCE = MPI_UNDEFINED;
    of->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int released(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    world = MPI_COMM_WORLD;
    request = MPI_REQUEST_NULL;
    types[0] = types[1] = MPI_BYTE;
    MPI_Comm_rank(world, &rank);
    other = 1 - rank;
    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 1, &rank, &own);
}

#endif
