#define _POSIX_C_SOURCE 200809L

#include "idle.h"

#include <sched.h>
#include <time.h>

void idle_wait(MPI_Request *request)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    int done = 0;
    for (;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&nap, NULL);
    }
}

void idle_until_all_done(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    idle_wait(&request);
}

void idle_until(double time)
{
    // A nap is over in time even when it takes a few times as long as asked. Close to the
    // time, processes that share a processor only take turns, which is quick.
    const double long_before = 500e-6, close = 50e-6;
    const struct timespec nap = {.tv_nsec = 50000};
    int found;
    for (double left; (left = time - MPI_Wtime()) > 0.0;) {
        if (left > close)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        if (left > long_before)
            nanosleep(&nap, NULL);
        else
            sched_yield();
    }
}

void idle_yield(void)
{
    sched_yield();
}
