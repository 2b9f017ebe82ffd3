// The database: a FASTA file that all ranks read through MPI-IO, in fragments of whole proteins.
#ifndef FISHPLATE_APPS_DATABASE_H
#define FISHPLATE_APPS_DATABASE_H

#include "fasta.h"
#include "pairwise.h" // totals
#include "recipe.h"
#include "trouble.h"

#include <mpi.h>

struct fragment {
    int64_t offset, bytes; // in the file
    int64_t first; // number of its first protein
    int64_t proteins, residues;
};

struct database {
    char name[OPTIONS_PATH_CAPACITY];
    MPI_File file;
    bool temporary; // removed when it is closed
    int64_t bytes;
    struct fragment *fragments;
    int fragment_count;
    struct totals totals;
};

// All ranks call these together. They end the job with exit code 6 when a file is not as it
// should be.

// Makes the file, each rank a part.
void database_make(struct database *database, const struct session *session,
                   const struct recipe *recipe, const char *name, bool temporary);
void database_open(struct database *database, const struct session *session, const char *name);

// Finds the fragments, and reads each once to count what is in it.
void database_index(struct database *database, const struct session *session, int fragments);

// What this host has of the file in memory is forgotten, so that it is read from the file system.
void database_forget(struct database *database, const struct session *session);

void database_close(struct database *database);

// A part of the file. False when it cannot be read; the trouble says why.
bool database_read(const struct database *database, int64_t offset, int64_t bytes, char *text,
                   struct trouble *trouble);

// Ends the job when a rank has trouble.
void database_require(struct database *database, const struct session *session,
                      const struct trouble *trouble);

// What MPI says of a failure to do something with the file.
void database_note_mpi(const struct database *database, const char *what, int code,
                       struct trouble *trouble);

#endif
