// disturbed signals|fork|stopped SECONDS|computing FOLDER : what a process may do to a library that lives in it. The ranks exchange
// messages of many lengths, both ways at once, and check them, while
//   signals    a timer interrupts whatever they do each millisecond, with a handler and without SA_RESTART
//   fork       each forks a child now and then, which ends by exit() or _exit(), with what a library has for the end
//   stopped    rank 1 is stopped for SECONDS (SIGSTOP) with messages under way, and continued
//   computing  rank 1 posts sends, and calls MPI again only when rank 0 has everything; it says so by a file in FOLDER
#define _DEFAULT_SOURCE
#include "common.h"
#include "timer.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 3, ROUNDS = 300, MOST = 300000, LARGE = 8000000, SECONDS = 60 };

static const size_t lengths[] = {0, 8, 1000, 16384, 70000, MOST};
// A child that ends at once, in either way.
static void fork_child(int round)
{
    fflush(NULL);
    pid_t child = fork();
    expect(child >= 0, "no child can be forked");
    if (child == 0) {
        if (round % 2 == 0)
            _exit(0);
        exit(0);
    }
    int status;
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status), "a child has not ended well");
}

static void exchange(int round, size_t length, unsigned char *out, unsigned char *in)
{
    int rank = rank_of(MPI_COMM_WORLD), peer = 1 - rank;
    MPI_Request requests[2];
    fill(out, length, (uint64_t)(2 * round + rank));
    MPI_Irecv(in, (int)length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int)length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, length, (uint64_t)(2 * round + peer));
}

static void exchange_all(bool forks)
{
    unsigned char *out = allocate(MOST), *in = allocate(MOST);
    for (int round = 0; round < ROUNDS; round++) {
        if (forks && round % 10 == 0)
            fork_child(round / 10);
        exchange(round, lengths[(size_t)round % (sizeof lengths / sizeof *lengths)], out, in);
    }
    free(out);
    free(in);
}

// A child stops this process, and has it go on after `seconds`.
static void stop_for(int seconds)
{
    pid_t child = fork();
    expect(child >= 0, "no child can be forked");
    if (child == 0) {
        kill(getppid(), SIGSTOP);
        sleep((unsigned)seconds);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    expect(waitpid(child, NULL, 0) == child, "the child is lost");
}

static void exchange_with_one_stopped(int seconds)
{
    int rank = rank_of(MPI_COMM_WORLD);
    unsigned char *out = allocate(LARGE), *in = allocate(LARGE);
    MPI_Request requests[2];
    fill(out, LARGE, (uint64_t)rank);
    MPI_Irecv(in, LARGE, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, LARGE, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
    if (rank == 1)
        stop_for(seconds);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, LARGE, (uint64_t)(1 - rank));
    free(out);
    free(in);
    exchange_all(false);
}

// Nothing of rank 1 calls MPI once its sends are posted.
static void send_and_compute(const char *folder)
{
    char name[512];
    snprintf(name, sizeof name, "%s/arrived", folder);
    unsigned char *bytes = allocate(LARGE);
    if (rank_of(MPI_COMM_WORLD) == 1) {
        MPI_Request request;
        fill(bytes, LARGE, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(bytes, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        time_t start = time(NULL);
        while (access(name, F_OK) != 0)
            expect(time(NULL) - start < SECONDS, "what was posted waits for its sender's process");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(bytes, LARGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(bytes, LARGE, 1);
        FILE *file = fopen(name, "w");
        expect(file != NULL && fclose(file) == 0, "%s cannot be written", name);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc > 1 && size_of(MPI_COMM_WORLD) == 2, "usage: disturbed KIND [SECONDS|FOLDER], two ranks");
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "signals") == 0) {
        start_timer();
        exchange_all(false);
        stop_timer();
    } else if (strcmp(argv[1], "fork") == 0) {
        exchange_all(true);
    } else if (strcmp(argv[1], "stopped") == 0 && argc == 3) {
        exchange_with_one_stopped(atoi(argv[2]));
    } else {
        expect(strcmp(argv[1], "computing") == 0 && argc == 3, "what is %s?", argv[1]);
        send_and_compute(argv[2]);
    }
    all_right();
    return 0;
}
