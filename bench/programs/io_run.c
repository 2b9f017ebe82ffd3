#define _POSIX_C_SOURCE 200809L

#include "io_run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

// Those by which launchers and users end programs.
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

static struct io *current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of it, and while its folder is removed
static atomic_bool interrupted;

static sigset_t signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        sigaddset(&set, ending[i]);
    return set;
}

static void *wait_for_signal(void *unused)
{
    sigset_t set = signals();
    int number;
    if (sigwait(&set, &number) != 0)
        return unused;
    atomic_store(&interrupted, true);
    io_run_remove();
    // As if it had come without this thread.
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return unused;
}

void io_run_guard(void)
{
    sigset_t set = signals();
    pthread_t thread;
    // It would end the process when nobody reads the output any more, or an NFS server is gone.
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void io_run_begin(struct io *io)
{
    pthread_mutex_lock(&lock);
    current = io;
    pthread_mutex_unlock(&lock);
}

const char *io_run_remove(void)
{
    pthread_mutex_lock(&lock);
    struct io *io = current;
    current = NULL;
    const char *why = io == NULL ? NULL : io->access->remove_folder(io, io->folder);
    pthread_mutex_unlock(&lock);
    return why;
}

void io_run_continue(void)
{
    while (atomic_load(&interrupted))
        pause();
}
