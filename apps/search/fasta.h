// Proteins as text: a line that starts with '>' and a name, then lines of letters.
#ifndef FISHPLATE_APPS_FASTA_H
#define FISHPLATE_APPS_FASTA_H

#include "residues.h"

#include <stdbool.h>
#include <stddef.h>

struct protein {
    const char *name; // in the text, ended by no zero
    int name_length;
    residue *residues;
    int length;
    size_t offset; // of its first line in the text
};

struct proteins {
    struct protein *items;
    size_t count;
    residue *residues; // of all
    size_t residue_count;
};

enum { FASTA_MESSAGE_CAPACITY = 256 };

// Reads all of the text, which must stay where it is. On false, nothing is left to destroy and
// the message says what is wrong and where; the text begins at byte `base` of its file.
bool fasta_read(struct proteins *proteins, const char *text, size_t bytes, int64_t base,
                char message[FASTA_MESSAGE_CAPACITY]);
void fasta_destroy(struct proteins *proteins);

// Where the first protein begins at or behind a place of the text; its end if there is none.
// `after_line` says whether the text begins with a line.
size_t fasta_next(const char *text, size_t bytes, size_t from, bool after_line);

#endif
