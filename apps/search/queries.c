#include "queries.h"

#include "buffer.h" // allocate
#include "files.h"
#include "trouble.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

static void parse(struct queries *queries, const struct session *session, const char *name,
                  struct trouble *trouble)
{
    char message[FASTA_MESSAGE_CAPACITY];
    if (!trouble_is(trouble)
        && !fasta_read(&queries->proteins, queries->text.bytes, queries->text.count, 0,
                       message))
        trouble_note(trouble, "%s is no FASTA file: %s", name, message);
    else if (!trouble_is(trouble) && queries->proteins.count == 0)
        trouble_note(trouble, "%s is no FASTA file: it has no protein", name);
    trouble_end(session, trouble);
}

void queries_read(struct queries *queries, const struct session *session, const char *name)
{
    struct trouble trouble = {0};
    if (session->rank == 0) {
        files_read(name, &queries->text, &trouble);
        if (queries->text.count > INT_MAX)
            trouble_note(&trouble, "%s is larger than %d bytes", name, INT_MAX);
    }
    trouble_end(session, &trouble);
    int count = (int)queries->text.count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    char *bytes = allocate((size_t)count);
    if (session->rank == 0)
        memcpy(bytes, queries->text.bytes, (size_t)count);
    MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    text_destroy(&queries->text);
    queries->text = (struct text){bytes, (size_t)count, (size_t)count};
    parse(queries, session, name, &trouble);
}

void queries_make(struct queries *queries, const struct session *session,
                  const struct recipe *recipe, const char *name)
{
    struct trouble trouble = {0};
    for (int i = 0; i < recipe_queries(recipe); i++)
        recipe_add_query(recipe, i, &queries->text);
    if (session->rank == 0 && name[0] != '\0')
        files_make(name, &queries->text, &trouble);
    parse(queries, session, name, &trouble);
}

void queries_destroy(struct queries *queries)
{
    fasta_destroy(&queries->proteins);
    text_destroy(&queries->text);
}
