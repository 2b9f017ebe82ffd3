#define _POSIX_C_SOURCE 200809L

#include "one_sided_limit.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char explanation[] =
    "segmentation fault in MPI: MPICH over a libfabric provider without remote memory access has "
    "it where more than one operation of about 16 KiB or more is under way; --window 1 or smaller "
    "--sizes avoid it\n";

static void explain(int signal)
{
    ssize_t written = write(STDERR_FILENO, explanation, sizeof explanation - 1);
    (void)written; // nothing to be done about it here
    raise(signal); // with the default action again
}

void one_sided_limit_explain(const struct session *session)
{
    if (strncmp(session->mpi_library, "MPICH", strlen("MPICH")) != 0)
        return;
    struct sigaction action = {.sa_handler = explain, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
}
