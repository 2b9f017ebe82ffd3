#define _POSIX_C_SOURCE 200809L

#include "session.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *program_name = "bench";

static _Noreturn void end(int code)
{
    fflush(stdout);
    MPI_Finalize();
    exit(code);
}

static void start_mpi(const struct program *program, int *argc, char ***argv)
{
    if (!program->needs_threads) {
        MPI_Init(argc, argv);
        return;
    }
    int provided, rank;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided == MPI_THREAD_MULTIPLE)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr,
                "%s: the MPI library gives thread level %d; needed: MPI_THREAD_MULTIPLE, %d\n",
                program->name, provided, MPI_THREAD_MULTIPLE);
    end(EXIT_USAGE);
}

// The first line of what the MPI library says of itself, with single blanks.
static void name_library(struct session *session)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(name, &length);
    char *end = session->mpi_library, *limit = end + sizeof session->mpi_library - 1;
    for (const char *at = name; *at != '\0' && *at != '\n' && end < limit; at++) {
        bool blank = *at == ' ' || *at == '\t' || *at == '\r';
        if (!blank)
            *end++ = *at;
        else if (end > session->mpi_library && end[-1] != ' ')
            *end++ = ' ';
    }
    *end = '\0';
}

void session_start(struct session *session, const struct program *program, int argc, char **argv)
{
    program_name = program->name;
    start_mpi(program, &argc, &argv);
    memset(session, 0, sizeof *session);
    session->program = program;
    MPI_Comm_rank(MPI_COMM_WORLD, &session->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session->ranks);
    name_library(session);

    // Rank 0 alone reads the command line: messages appear once, and no two ranks can
    // disagree about sizes and counts.
    int outcome = OPTIONS_RUN;
    if (session->rank == 0)
        outcome = session_parse(session, argc, argv);
    MPI_Bcast(&outcome, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (outcome != OPTIONS_RUN)
        end(outcome == OPTIONS_WRONG ? EXIT_USAGE : EXIT_SUCCESS);
    MPI_Bcast(&session->options, (int)sizeof session->options, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void session_require_ranks(const struct session *session, int fits, const char *needed)
{
    if (!fits)
        session_refuse(session, "started with %d rank%s; allowed: %s", session->ranks,
                       session->ranks == 1 ? "" : "s", needed);
}

_Noreturn void session_refuse(const struct session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (session->rank == 0) {
        fprintf(stderr, "%s: ", program_name);
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
    }
    va_end(arguments);
    end(EXIT_USAGE);
}

void session_start_pair(struct session *session, const struct program *program, int argc,
                        char **argv)
{
    session_start(session, program, argc, argv);
    session_require_ranks(session, session->ranks == 2, "exactly 2 ranks");
}

int session_finish(void)
{
    fflush(stdout);
    MPI_Finalize();
    return EXIT_SUCCESS;
}

_Noreturn void session_abort(int code, const char *format, ...)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: rank %d: %s\n", program_name, rank, message);
    fflush(stderr);
    // Launchers drop what has not reached them when the job ends.
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}
