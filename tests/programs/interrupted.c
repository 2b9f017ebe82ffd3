// The handler of a timer's signal calls MPI, hundreds of times, wherever the program is: in calls in which MPI itself does nothing.
#define _GNU_SOURCE
#include "common.h"

#include <signal.h>
#include <sys/time.h>

enum { TIMES = 300, MICROSECONDS = 100 };

static volatile sig_atomic_t times;

static void handle(int number)
{
    (void)number;
    times++;
    int done;
    MPI_Testall(0, NULL, &done, MPI_STATUSES_IGNORE);
}

static void ring(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

// Threads that MPI starts have the mask of the one that starts them: the handler is to run on this thread alone.
static void mask(int how)
{
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(how, &alarm, NULL);
}

int main(int argc, char **argv)
{
    mask(SIG_BLOCK);
    MPI_Init(&argc, &argv);
    mask(SIG_UNBLOCK);
    signal(SIGALRM, handle);
    ring(MICROSECONDS);
    while (times < TIMES) {
        int found;
        MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    ring(0);
    all_right();
    return 0;
}
