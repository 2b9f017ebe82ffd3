#include "trouble.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void trouble_note(struct trouble *trouble, const char *format, ...)
{
    if (trouble_is(trouble))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trouble->text, sizeof trouble->text, format, arguments);
    va_end(arguments);
}

bool trouble_is(const struct trouble *trouble)
{
    return trouble->text[0] != '\0';
}

bool trouble_none(const struct session *session, const struct trouble *trouble)
{
    int own = trouble_is(trouble) ? session->rank : session->ranks, first;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == session->rank)
        fprintf(stderr, "%s: %s\n", session->program->name, trouble->text);
    return first == session->ranks;
}

void trouble_end(const struct session *session, const struct trouble *trouble)
{
    if (trouble_none(session, trouble))
        return;
    session_finish();
    exit(EXIT_FILE);
}
