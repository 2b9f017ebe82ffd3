#include "database.h"

#include "buffer.h" // allocate

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

// Where the first protein begins at or behind an offset, or the end of the file.
static int64_t find_start(const struct database *database, int64_t from, struct trouble *trouble)
{
    enum { CHUNK = 1 << 16 };
    char *text = allocate(CHUNK);
    int64_t found = database->bytes;
    // The byte before tells whether a line begins.
    for (int64_t at = from - 1; at < database->bytes; at += CHUNK - 1) {
        int64_t left = database->bytes - at, count = left < CHUNK ? left : CHUNK;
        if (!database_read(database, at, count, text, trouble))
            break;
        size_t start = fasta_next(text, (size_t)count, 1, false);
        if (start < (size_t)count) {
            found = at + (int64_t)start;
            break;
        }
    }
    free(text);
    return found;
}

static bool is_mine(const struct session *session, int fragment)
{
    return fragment % session->ranks == session->rank;
}

// Counts what is in a fragment, and whether it is well formed.
static void count_in(const struct database *database, struct fragment *fragment,
                     struct trouble *trouble)
{
    if (fragment->bytes == 0)
        return;
    char *text = allocate((size_t)fragment->bytes), message[FASTA_MESSAGE_CAPACITY];
    struct proteins proteins;
    if (database_read(database, fragment->offset, fragment->bytes, text, trouble)) {
        if (fasta_read(&proteins, text, (size_t)fragment->bytes, fragment->offset, message)) {
            fragment->proteins = (int64_t)proteins.count;
            fragment->residues = (int64_t)proteins.residue_count;
            fasta_destroy(&proteins);
        } else {
            trouble_note(trouble, "%s is no FASTA file: %s", database->name, message);
        }
    }
    free(text);
}

// Fragments of nearly the same size, each from the start of a protein to that of another.
static void cut(struct database *database, const struct session *session, struct trouble *trouble)
{
    int count = database->fragment_count;
    int64_t *starts = allocate(((size_t)count + 1) * sizeof(int64_t));
    for (int i = 0; i <= count; i++) {
        starts[i] = i == count ? database->bytes : 0;
        if (i > 0 && i < count && is_mine(session, i) && !trouble_is(trouble))
            starts[i] = find_start(database, database->bytes / count * i, trouble);
    }
    MPI_Allreduce(MPI_IN_PLACE, starts, count + 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        int64_t bytes = starts[i + 1] - starts[i];
        database->fragments[i] = (struct fragment){.offset = starts[i], .bytes = bytes};
        // MPI counts in int.
        if (bytes > INT_MAX)
            trouble_note(trouble,
                         "%s: a fragment of %" PRId64 " bytes; allowed: up to %d, with more "
                         "--fragments",
                         database->name, bytes, INT_MAX);
    }
    free(starts);
}

// Numbers the proteins of all fragments, of which each rank has counted some.
static void add_up(struct database *database)
{
    int count = database->fragment_count;
    int64_t *counts = allocate(2 * (size_t)count * sizeof(int64_t));
    for (int i = 0; i < count; i++) {
        counts[2 * i] = database->fragments[i].proteins;
        counts[2 * i + 1] = database->fragments[i].residues;
    }
    MPI_Allreduce(MPI_IN_PLACE, counts, 2 * count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        struct fragment *fragment = &database->fragments[i];
        fragment->first = database->totals.proteins;
        fragment->proteins = counts[2 * i];
        fragment->residues = counts[2 * i + 1];
        database->totals.proteins += fragment->proteins;
        database->totals.residues += fragment->residues;
    }
    free(counts);
}

void database_index(struct database *database, const struct session *session, int fragments)
{
    struct trouble trouble = {0};
    MPI_Offset bytes = 0;
    int code = MPI_File_get_size(database->file, &bytes);
    if (code != MPI_SUCCESS)
        database_note_mpi(database, "read", code, &trouble);
    database->bytes = bytes;
    database->fragment_count = fragments < bytes ? fragments : bytes > 0 ? (int)bytes : 1;
    database->fragments =
        allocate((size_t)database->fragment_count * sizeof *database->fragments);
    cut(database, session, &trouble);
    database_require(database, session, &trouble);
    for (int i = 0; i < database->fragment_count && !trouble_is(&trouble); i++)
        if (is_mine(session, i))
            count_in(database, &database->fragments[i], &trouble);
    database_require(database, session, &trouble);
    add_up(database);
    if (database->totals.proteins == 0)
        trouble_note(&trouble, "%s is no FASTA file: it has no protein", database->name);
    database_require(database, session, &trouble);
}
