// testing threads|signals|files|seconds N : rank 0 does nothing but test. What it tests for comes only when it has tested in
// vain many times, so that its calls have become rare looks at the network; and it comes all the same, whole, while
//   threads    eight threads test at once, each for messages of its own
//   signals    a timer interrupts whatever it does each millisecond, with a handler and without SA_RESTART
//   files      neither process may open one more file
//   seconds    rank 1 makes no call of MPI for N seconds
#define _DEFAULT_SOURCE
#include "common.h"
#include "timer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 4, IN_VAIN = 2000, MOST = 1000000 };

static const size_t lengths[ROUNDS] = {8, 1000, 70000, MOST};

static uint64_t key(int worker, int round)
{
    return (uint64_t)worker * ROUNDS + (uint64_t)round;
}

// Tests in vain, asks for the message, tests until it is there.
static void test_for_one(int worker, int round, unsigned char *bytes)
{
    size_t length = lengths[round];
    MPI_Request request;
    int is_there = 0;
    MPI_Irecv(bytes, (int)length, MPI_BYTE, 1, worker, MPI_COMM_WORLD, &request);
    for (int i = 0; i < IN_VAIN; i++) {
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        expect(!is_there, "message %d of thread %d has come before it was sent", round, worker);
    }
    MPI_Send(&round, 1, MPI_INT, 1, worker, MPI_COMM_WORLD);
    while (!is_there)
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
    verify(bytes, length, key(worker, round));
}

static void *test_for_all(void *worker)
{
    unsigned char *bytes = allocate(MOST);
    for (int round = 0; round < ROUNDS; round++)
        test_for_one(*(int *)worker, round, bytes);
    free(bytes);
    return NULL;
}

static void answer(int workers)
{
    unsigned char *bytes = allocate(MOST);
    for (int left = workers * ROUNDS; left > 0; left--) {
        MPI_Status status;
        int round;
        MPI_Recv(&round, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        fill(bytes, lengths[round], key(status.MPI_TAG, round));
        MPI_Send(bytes, (int)lengths[round], MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD);
    }
    free(bytes);
}

static void exchange(int workers)
{
    if (rank_of(MPI_COMM_WORLD) == 1) {
        answer(workers);
        return;
    }
    pthread_t threads[THREADS];
    int numbers[THREADS] = {0};
    for (int i = 1; i < workers; i++) {
        numbers[i] = i;
        expect(pthread_create(&threads[i], NULL, test_for_all, &numbers[i]) == 0, "no thread can be started");
    }
    test_for_all(&numbers[0]);
    for (int i = 1; i < workers; i++)
        pthread_join(threads[i], NULL);
}

// Until rank 0 hears of them, the ranks have no connection to set up any more.
static void take_all_files(void)
{
    struct rlimit limit;
    MPI_Barrier(MPI_COMM_WORLD);
    int next = open("/dev/null", O_RDONLY);
    expect(next >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0, "no file can be opened at first");
    limit.rlim_cur = (rlim_t)next + 1;
    expect(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit cannot be set");
    expect(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE, "a file can still be opened");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect(argc > 1 && size_of(MPI_COMM_WORLD) == 2, "usage: testing threads|signals|files|seconds N, two ranks");
    expect(provided == MPI_THREAD_MULTIPLE, "MPI gives thread level %d", provided);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "threads") == 0) {
        exchange(THREADS);
    } else if (strcmp(argv[1], "signals") == 0) {
        start_timer();
        exchange(1);
        stop_timer();
    } else if (strcmp(argv[1], "files") == 0) {
        take_all_files();
        exchange(1);
    } else {
        expect(strcmp(argv[1], "seconds") == 0 && argc == 3, "what is %s?", argv[1]);
        if (rank_of(MPI_COMM_WORLD) == 1)
            sleep((unsigned)atoi(argv[2]));
        exchange(1);
    }
    all_right();
    return 0;
}
