// The life of a program: options agreed between its processes, the end. session_mpi.c has
// it for programs with MPI, session_alone.c for those of one process.
#ifndef FISHPLATE_BENCH_SESSION_H
#define FISHPLATE_BENCH_SESSION_H

#include "command_line.h"

// Exit codes beside 0.
enum { EXIT_USAGE = 2, EXIT_WRONG_DATA = 3, EXIT_MEMORY = 4, EXIT_NETWORK = 5, EXIT_FILE = 6 };

enum { SESSION_TEXT_CAPACITY = 256 };

struct session {
    const struct program *program;
    struct options options; // those of rank 0, on every rank
    int rank, ranks; // in MPI_COMM_WORLD; alone: 0 of 1
    char mpi_library[SESSION_TEXT_CAPACITY]; // what it says of itself; empty: no MPI
    char transport[SESSION_TEXT_CAPACITY]; // what the program knows of it; empty: nothing
};

// Does not return when there is nothing to run: after --help, --version or an error,
// which rank 0 prints.
void session_start(struct session *session, const struct program *program, int argc, char **argv);

// The same for programs of two ranks, no more and no less.
void session_start_pair(struct session *session, const struct program *program, int argc,
                        char **argv);

// Ends every rank with exit code 2 unless `fits`; rank 0 says what is needed, for
// instance "exactly 2 ranks". `fits` must be the same on every rank.
void session_require_ranks(const struct session *session, int fits, const char *needed);

// Ends every rank with exit code 2; rank 0 prints one line. All ranks must call it.
_Noreturn void session_refuse(const struct session *session, const char *format, ...);

int session_finish(void);

// Prints one line on this rank and ends the whole job.
_Noreturn void session_abort(int code, const char *format, ...);

// Reads the command line, and answers --help, --version and errors.
enum options_outcome session_parse(struct session *session, int argc, char **argv);

#endif
