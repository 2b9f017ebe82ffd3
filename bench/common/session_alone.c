#include "session.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "bench";

void session_start(struct session *session, const struct program *program, int argc, char **argv)
{
    program_name = program->name;
    memset(session, 0, sizeof *session);
    session->program = program;
    session->ranks = 1;
    enum options_outcome outcome = session_parse(session, argc, argv);
    fflush(stdout);
    if (outcome != OPTIONS_RUN)
        exit(outcome == OPTIONS_WRONG ? EXIT_USAGE : EXIT_SUCCESS);
}

int session_finish(void)
{
    fflush(stdout);
    return EXIT_SUCCESS;
}

_Noreturn void session_abort(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    fflush(stderr);
    exit(code);
}
