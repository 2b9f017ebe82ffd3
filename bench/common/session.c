#include "session.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "bench";

static _Noreturn void end(int code)
{
    fflush(stdout);
    MPI_Finalize();
    exit(code);
}

static int parse_on_root(struct session *session, int argc, char **argv)
{
    char message[OPTIONS_MESSAGE_CAPACITY];
    int outcome = options_parse(session->program, argc, argv, &session->options, message);
    switch (outcome) {
    case OPTIONS_HELP:
        options_print_help(session->program, stdout);
        break;
    case OPTIONS_VERSION:
        printf("%s (fishplate-bench) %s\n", session->program->name, BENCH_VERSION);
        break;
    case OPTIONS_WRONG:
        fprintf(stderr, "%s: %s\n", session->program->name, message);
        break;
    default:
        break;
    }
    return outcome;
}

void session_start(struct session *session, const struct program *program, int argc, char **argv)
{
    program_name = program->name;
    MPI_Init(&argc, &argv);
    memset(session, 0, sizeof *session);
    session->program = program;
    MPI_Comm_rank(MPI_COMM_WORLD, &session->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session->ranks);

    // Rank 0 alone reads the command line: messages appear once, and no two ranks can
    // disagree about sizes and counts.
    int outcome = OPTIONS_RUN;
    if (session->rank == 0)
        outcome = parse_on_root(session, argc, argv);
    MPI_Bcast(&outcome, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (outcome != OPTIONS_RUN)
        end(outcome == OPTIONS_WRONG ? EXIT_USAGE : EXIT_SUCCESS);
    MPI_Bcast(&session->options, (int)sizeof session->options, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void session_require_ranks(const struct session *session, int fits, const char *needed)
{
    if (fits)
        return;
    if (session->rank == 0)
        fprintf(stderr, "%s: started with %d rank%s; allowed: %s\n", program_name, session->ranks,
                session->ranks == 1 ? "" : "s", needed);
    end(EXIT_USAGE);
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
    MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}
