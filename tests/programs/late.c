// late HOW SECONDS SIZE... : rank 0 sends messages of these sizes to every other rank and ends; these sleep, and receive. (It
// begins a second later, so that they sleep by then.)
// HOW: met, if ranks have met before; strangers, if not; exits: as met, and the sender leaves without MPI_Finalize; session:
// without MPI_Init; spawned: a process that the only rank spawns sends to it, and disconnects.
#include "common.h"

#include <unistd.h>

enum { TAG = 9 };

// Who sends to whom: the sender is rank 0 at the other end of an intercommunicator, or of all.
struct parties {
    MPI_Comm comm;
    bool is_sender;
    int first, last;
};

static struct parties in_world(MPI_Comm comm)
{
    return (struct parties){comm, rank_of(comm) == 0, 1, size_of(comm) - 1};
}

static struct parties in_session(MPI_Session *session)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "late", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return in_world(comm);
}

static struct parties of_spawned(char **argv)
{
    MPI_Comm others;
    MPI_Comm_get_parent(&others);
    bool is_child = others != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    return (struct parties){others, is_child, 0, 0};
}

static void exchange(const struct parties *parties, size_t size, uint64_t key)
{
    unsigned char *bytes = allocate(size);
    for (int other = parties->first; parties->is_sender && other <= parties->last; other++) {
        fill(bytes, size, key + (uint64_t)other);
        MPI_Send(bytes, (int)size, MPI_BYTE, other, TAG, parties->comm);
    }
    if (!parties->is_sender) {
        MPI_Recv(bytes, (int)size, MPI_BYTE, 0, TAG, parties->comm, MPI_STATUS_IGNORE);
        int own = parties->last > 0 ? rank_of(parties->comm) : 0;
        verify(bytes, size, key + (uint64_t)own);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: late met|strangers|exits|session|spawned SECONDS SIZE...\n");
        return 2;
    }
    const char *how = argv[1];
    bool is_session = strcmp(how, "session") == 0, is_spawned = strcmp(how, "spawned") == 0;
    MPI_Session session = MPI_SESSION_NULL;
    if (!is_session)
        MPI_Init(&argc, &argv);
    struct parties parties = is_session   ? in_session(&session)
                             : is_spawned ? of_spawned(argv)
                                          : in_world(MPI_COMM_WORLD);
    if (strcmp(how, "strangers") != 0)
        MPI_Barrier(parties.comm);
    for (unsigned left = parties.is_sender ? 1 : (unsigned)strtoul(argv[2], NULL, 10); left > 0;)
        left = sleep(left);
    for (int at = 3; at < argc; at++)
        exchange(&parties, strtoull(argv[at], NULL, 10), (uint64_t)at * 1000);
    if (!parties.is_sender)
        printf("rank %d has all\n", parties.last > 0 ? rank_of(parties.comm) : 1);
    if (parties.is_sender && strcmp(how, "exits") == 0)
        exit(0);
    if (is_spawned)
        MPI_Comm_disconnect(&parties.comm);
    if (is_session) {
        MPI_Comm_free(&parties.comm);
        MPI_Session_finalize(&session);
    } else {
        MPI_Finalize();
    }
    return 0;
}
