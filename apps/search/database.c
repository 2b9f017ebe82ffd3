#include "database.h"

#include "buffer.h" // allocate
#include "comm.h"
#include "files.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// The first line of what MPI says, which may go on with where in its sources that was.
static void note_mpi(struct trouble *trouble, const struct database *database, const char *what,
                     int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    text[strcspn(text, "\n")] = '\0';
    char *stack = strstr(text, ", error stack");
    if (stack != NULL)
        *stack = '\0';
    trouble_note(trouble, "cannot %s %s: %s", what, database->name, text);
}

bool database_read(const struct database *database, int64_t offset, int64_t bytes, char *text,
                   struct trouble *trouble)
{
    MPI_Status status;
    int read, code =
        comm_file_read_at(database->file, offset, text, (int)bytes, MPI_BYTE, &status);
    if (code != MPI_SUCCESS) {
        note_mpi(trouble, database, "read", code);
        return false;
    }
    MPI_Get_count(&status, MPI_BYTE, &read);
    if (read == bytes)
        return true;
    trouble_note(trouble, "cannot read %s: it ends at byte %" PRId64 " of %" PRId64, database->name,
                 offset + read, database->bytes);
    return false;
}

// Ends the job when a rank has trouble.
static void require(struct database *database, const struct session *session,
                    const struct trouble *trouble)
{
    if (trouble_none(session, trouble))
        return;
    database_close(database);
    session_finish();
    exit(EXIT_FILE);
}

static void open_file(struct database *database, const struct session *session, const char *name,
                      int mode)
{
    struct trouble trouble = {0};
    *database = (struct database){.file = MPI_FILE_NULL};
    snprintf(database->name, sizeof database->name, "%s", name);
    int code = MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &database->file);
    if (code != MPI_SUCCESS) {
        database->file = MPI_FILE_NULL;
        note_mpi(&trouble, database, "open", code);
    }
    require(database, session, &trouble);
}

void database_open(struct database *database, const struct session *session, const char *name)
{
    // The system's words for what is wrong are clearer than those of MPI.
    struct trouble trouble = {0};
    if (session->rank == 0)
        files_check(name, &trouble);
    trouble_end(session, &trouble);
    open_file(database, session, name, MPI_MODE_RDONLY);
}

// Proteins of this rank.
struct part {
    uint64_t first, end;
};

static struct part part_of(const struct recipe *recipe, const struct session *session)
{
    uint64_t rank = (uint64_t)session->rank, ranks = (uint64_t)session->ranks;
    uint64_t each = recipe->proteins / ranks, more = recipe->proteins % ranks;
    uint64_t first = rank * each + (rank < more ? rank : more);
    return (struct part){first, first + each + (rank < more ? 1 : 0)};
}

static int64_t bytes_of(const struct recipe *recipe, struct part part)
{
    struct text text = {0};
    int64_t bytes = 0;
    for (uint64_t i = part.first; i < part.end; i++) {
        text.count = 0;
        recipe_add_protein(recipe, i, &text);
        bytes += (int64_t)text.count;
    }
    text_destroy(&text);
    return bytes;
}

// Writes this rank's proteins from an offset on, some at a time.
static void write_part(struct database *database, const struct recipe *recipe, struct part part,
                       int64_t offset, struct trouble *trouble)
{
    const size_t enough = (size_t)4 << 20;
    struct text text = {0};
    for (uint64_t i = part.first; i < part.end && !trouble_is(trouble); i++) {
        recipe_add_protein(recipe, i, &text);
        if (text.count < enough && i + 1 < part.end)
            continue;
        MPI_Status status;
        int code = MPI_File_write_at(database->file, offset, text.bytes, (int)text.count, MPI_BYTE,
                                     &status);
        if (code != MPI_SUCCESS)
            note_mpi(trouble, database, "write", code);
        offset += (int64_t)text.count;
        text.count = 0;
    }
    text_destroy(&text);
}

void database_make(struct database *database, const struct session *session,
                   const struct recipe *recipe, const char *name, bool temporary)
{
    struct trouble trouble = {0};
    if (session->rank == 0)
        files_make(name, NULL, &trouble);
    trouble_end(session, &trouble);
    open_file(database, session, name,
              MPI_MODE_RDWR | (temporary ? MPI_MODE_DELETE_ON_CLOSE : 0));
    struct part part = part_of(recipe, session);
    int64_t bytes = bytes_of(recipe, part), before = 0;
    MPI_Exscan(&bytes, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    write_part(database, recipe, part, session->rank == 0 ? 0 : before, &trouble);
    // The others may read it then.
    int code = MPI_File_sync(database->file);
    if (code != MPI_SUCCESS)
        note_mpi(&trouble, database, "write", code);
    require(database, session, &trouble);
}

void database_close(struct database *database)
{
    if (database->file != MPI_FILE_NULL)
        MPI_File_close(&database->file);
    free(database->fragments);
    database->fragments = NULL;
}

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
        note_mpi(&trouble, database, "read", code);
    database->bytes = bytes;
    database->fragment_count = fragments < bytes ? fragments : bytes > 0 ? (int)bytes : 1;
    database->fragments =
        allocate((size_t)database->fragment_count * sizeof *database->fragments);
    cut(database, session, &trouble);
    require(database, session, &trouble);
    for (int i = 0; i < database->fragment_count && !trouble_is(&trouble); i++)
        if (is_mine(session, i))
            count_in(database, &database->fragments[i], &trouble);
    require(database, session, &trouble);
    add_up(database);
    if (database->totals.proteins == 0)
        trouble_note(&trouble, "%s is no FASTA file: it has no protein", database->name);
    require(database, session, &trouble);
}
