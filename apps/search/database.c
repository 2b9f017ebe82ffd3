#define _GNU_SOURCE // posix_fadvise, truncate

#include "database.h"

#include "comm.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void database_note_mpi(const struct database *database, const char *what, int code,
                       struct trouble *trouble)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    // What follows the first line is where in MPI's sources that was.
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
        database_note_mpi(database, "read", code, trouble);
        return false;
    }
    MPI_Get_count(&status, MPI_BYTE, &read);
    if (read == bytes)
        return true;
    trouble_note(trouble, "cannot read %s: it ends at byte %" PRId64 " of %" PRId64, database->name,
                 offset + read, database->bytes);
    return false;
}

void database_require(struct database *database, const struct session *session,
                      const struct trouble *trouble)
{
    if (trouble_none(session, trouble))
        return;
    database_close(database);
    session_finish();
    exit(EXIT_FILE);
}

static struct database named(const char *name)
{
    struct database database = {.file = MPI_FILE_NULL};
    snprintf(database.name, sizeof database.name, "%s", name);
    return database;
}

static void open_file(struct database *database, const struct session *session, int mode)
{
    struct trouble trouble = {0};
    int code = MPI_File_open(MPI_COMM_WORLD, database->name, mode, MPI_INFO_NULL, &database->file);
    if (code != MPI_SUCCESS) {
        database->file = MPI_FILE_NULL;
        database_note_mpi(database, "open", code, &trouble);
    }
    database_require(database, session, &trouble);
}

void database_open(struct database *database, const struct session *session, const char *name)
{
    // The system's words for what is wrong are clearer than those of MPI.
    struct trouble trouble = {0};
    if (session->rank == 0)
        files_check(name, &trouble);
    trouble_end(session, &trouble);
    *database = named(name);
    open_file(database, session, MPI_MODE_RDONLY);
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
            database_note_mpi(database, "write", code, trouble);
        offset += (int64_t)text.count;
        text.count = 0;
    }
    text_destroy(&text);
}

// An empty place for all of it: clients of a file system that have looked at it once may take its
// length for what it was then.
static void make_place(const char *name, int64_t bytes, struct trouble *trouble)
{
    files_make(name, NULL, trouble);
    if (!trouble_is(trouble) && truncate(name, bytes) != 0)
        trouble_note(trouble, "cannot write %s: %s", name, strerror(errno));
}

void database_make(struct database *database, const struct session *session,
                   const struct recipe *recipe, const char *name, bool temporary)
{
    struct trouble trouble = {0};
    struct part part = part_of(recipe, session);
    int64_t bytes = bytes_of(recipe, part), before = 0, all = 0;
    MPI_Exscan(&bytes, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&bytes, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    *database = named(name);
    if (session->rank == 0)
        make_place(name, all, &trouble);
    trouble_end(session, &trouble);
    // From here on it is this job's to remove.
    database->temporary = temporary;
    open_file(database, session, MPI_MODE_RDWR);
    write_part(database, recipe, part, session->rank == 0 ? 0 : before, &trouble);
    // The others may read it then.
    int code = MPI_File_sync(database->file);
    if (code != MPI_SUCCESS)
        database_note_mpi(database, "write", code, &trouble);
    database_require(database, session, &trouble);
}

void database_forget(struct database *database, const struct session *session)
{
    MPI_File_close(&database->file);
    int fd = open(database->name, O_RDONLY | O_CLOEXEC);
    // What goes wrong is told when MPI opens it.
    if (fd >= 0) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    open_file(database, session, MPI_MODE_RDONLY);
}

void database_close(struct database *database)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (database->file != MPI_FILE_NULL)
        MPI_File_close(&database->file);
    if (database->temporary && rank == 0)
        MPI_File_delete(database->name, MPI_INFO_NULL);
    free(database->fragments);
    database->fragments = NULL;
}
