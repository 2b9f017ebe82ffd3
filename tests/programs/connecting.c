// Processes of one world that connect to each other as if they were of two, over a port and over a socket; and start several
// programs at once. On two ranks.
//
//     connecting port | socket | start
#define _GNU_SOURCE
#include "common.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 1000 };

// Messages both ways with the other group, and what all of it do.
static void exchange(MPI_Comm others, int first)
{
    char out[BYTES] = {0}, in[BYTES];
    int value = 1, sum;
    MPI_Sendrecv(out, BYTES, MPI_BYTE, 0, 1, in, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 1, others, MPI_STATUS_IGNORE);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, others);
    MPI_Comm all;
    MPI_Intercomm_merge(others, !first, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&others);
}

static void over_a_port(int rank)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm others;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others);
    exchange(others, rank == 0);
    if (rank == 0)
        MPI_Close_port(port);
}

static void over_a_socket(int rank)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof place;
    int end = socket(AF_INET, SOCK_STREAM, 0), listener = end;
    if (rank == 0) {
        expect(bind(end, (struct sockaddr *)&place, length) == 0 && listen(end, 1) == 0, "no socket");
        getsockname(end, (struct sockaddr *)&place, &length);
    }
    MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        end = accept(listener, NULL, NULL);
    else
        expect(connect(end, (struct sockaddr *)&place, length) == 0, "no connection");
    MPI_Comm others;
    MPI_Comm_join(end, &others);
    exchange(others, rank == 0);
}

static void by_starting(char *program)
{
    char *programs[2] = {program, program};
    int counts[2] = {1, 1};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm others;
    MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    int value = 1, sum;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, others);
    MPI_Comm_disconnect(&others);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    int rank = rank_of(MPI_COMM_WORLD);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        int value = 1, sum;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "port") == 0)
            over_a_port(rank);
        if (strcmp(argv[at], "socket") == 0)
            over_a_socket(rank);
        if (strcmp(argv[at], "start") == 0)
            by_starting(argv[0]);
    }
    all_right();
    return 0;
}
