#include "output.h"

#include <errno.h>
#include <string.h>

static void note(struct trouble *trouble, const struct session *session)
{
    trouble_note(trouble, "--output: cannot write %s: %s", session->options.output,
                 strerror(errno));
}

FILE *output_open(const struct session *session)
{
    struct trouble trouble = {0};
    FILE *file = NULL;
    if (session->rank == 0 && session->options.output[0] != '\0') {
        file = fopen(session->options.output, "wb");
        if (file == NULL)
            note(&trouble, session);
    }
    trouble_end(session, &trouble);
    return file;
}

void output_close(FILE *file, const struct session *session, struct trouble *trouble)
{
    bool written = fflush(file) == 0 && !ferror(file);
    if (fclose(file) != 0 || !written)
        note(trouble, session);
}
