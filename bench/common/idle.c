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

void idle_yield(void)
{
    sched_yield();
}
