// steady FILE [HOW]: exchanges checked data with all other ranks until the file is there, by messages, or as HOW says:
// collective, one_sided; strangers: messages, of which the first are sent once FILE.go is there, so that no two ranks of
// different hosts have met. Says when it is connected (strangers: ready to be), so that others can begin to disturb it.
#include "common.h"

#include <unistd.h>

enum { MOST = 1000000 };

// How data are exchanged: what each rank sends, from `out`, has come from all others in this round.
typedef void exchange_function(uint64_t round, unsigned char *out, unsigned char *in);

static size_t length(uint64_t round)
{
    static const size_t lengths[] = {4, 1000, 20000, 200000, MOST};
    return lengths[round % (sizeof lengths / sizeof *lengths)];
}

static uint64_t key(uint64_t round, int rank)
{
    return round * (uint64_t)size_of(MPI_COMM_WORLD) + (uint64_t)rank;
}

static void messages(uint64_t round, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    fill(out, length(round), key(round, rank));
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        MPI_Sendrecv(out, (int)length(round), MPI_BYTE, to, 0, in, MOST, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        verify(in, length(round), key(round, from));
    }
}

static void collective(uint64_t round, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    size_t part = length(round) / (size_t)size;
    fill(out, part, key(round, rank));
    MPI_Allgather(out, (int)part, MPI_BYTE, in, (int)part, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        verify(in + part * (size_t)from, part, key(round, from));
    int sum, value = rank + (int)(round % 1000);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2 + size * (int)(round % 1000), "the sum of round %llu is %d",
           (unsigned long long)round, sum);
}

static MPI_Win window = MPI_WIN_NULL;
static unsigned char *exposed;

// Everybody puts into the next one's window, and gets that back.
static void one_sided(uint64_t round, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), bytes = (int)length(round);
    if (window == MPI_WIN_NULL)
        MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    fill(out, length(round), key(round, rank));
    MPI_Win_fence(0, window);
    MPI_Put(out, bytes, MPI_BYTE, (rank + 1) % size, 0, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    verify(exposed, length(round), key(round, (rank + size - 1) % size));
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, window);
    MPI_Get(in, bytes, MPI_BYTE, (rank + 1) % size, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock((rank + 1) % size, window);
    verify(in, length(round), key(round, rank));
}

static void say(const char *text)
{
    if (rank_of(MPI_COMM_WORLD) == 0)
        puts(text);
    fflush(stdout);
}

static void await_file(const char *name)
{
    while (access(name, F_OK) != 0)
        sleep(1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc >= 2, "usage: steady FILE [collective|one_sided|strangers]");
    const char *how = argc > 2 ? argv[2] : "messages";
    bool are_strangers = strcmp(how, "strangers") == 0;
    exchange_function *exchange = strcmp(how, "collective") == 0  ? collective
                                  : strcmp(how, "one_sided") == 0 ? one_sided
                                                                  : messages;
    unsigned char *out = allocate(MOST), *in = allocate(MOST);
    if (are_strangers) {
        char go[4096];
        snprintf(go, sizeof go, "%s.go", argv[1]);
        say("connected");
        await_file(go);
    }
    int stop = 0;
    for (uint64_t round = 0; !stop; round++) {
        exchange(round, out, in);
        if (round == 0 && !are_strangers)
            say("connected");
        stop = access(argv[1], F_OK) == 0;
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    free(out);
    free(in);
    all_right();
}
