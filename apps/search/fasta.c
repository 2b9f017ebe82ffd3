#include "fasta.h"

#include "buffer.h" // allocate

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t fasta_next(const char *text, size_t bytes, size_t from, bool after_line)
{
    for (size_t i = from; i < bytes; i++)
        if (text[i] == '>' && (i == 0 ? after_line : text[i - 1] == '\n'))
            return i;
    return bytes;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static size_t end_of_line(const char *text, size_t bytes, size_t from)
{
    const char *end = memchr(text + from, '\n', bytes - from);
    return end != NULL ? (size_t)(end - text) : bytes;
}

// Names are ended by blanks; what follows describes.
static bool read_name(struct protein *protein, const char *text, size_t end, int64_t base,
                      char *message)
{
    size_t from = protein->offset + 1, to = from;
    while (to < end && !is_blank(text[to]))
        to++;
    protein->name = text + from;
    protein->name_length = (int)(to - from);
    if (to > from && to - from <= INT_MAX)
        return true;
    snprintf(message, FASTA_MESSAGE_CAPACITY, "the protein at byte %" PRId64 " has no name",
             base + (int64_t)protein->offset);
    return false;
}

// Names may hold any bytes; messages do not.
static bool refuse(const struct protein *protein, const char *what, char *message)
{
    char name[65];
    int length = protein->name_length < 64 ? protein->name_length : 64;
    for (int i = 0; i < length; i++)
        name[i] = protein->name[i] >= ' ' && protein->name[i] <= '~' ? protein->name[i] : '?';
    name[length] = '\0';
    snprintf(message, FASTA_MESSAGE_CAPACITY, "protein %s %s", name, what);
    return false;
}

// The residues of a protein, up to the next one. Hyphens stand for gaps, which it has not.
static bool read_residues(struct protein *protein, const char *text, size_t from, size_t end,
                          char *message)
{
    size_t length = 0;
    for (size_t i = from; i < end; i++) {
        if (is_blank(text[i]) || text[i] == '-')
            continue;
        int number = residue_of(text[i]);
        if (number < 0) {
            char what[64];
            snprintf(what, sizeof what, "has byte 0x%02x, which is no amino acid",
                     (unsigned)(unsigned char)text[i]);
            return refuse(protein, what, message);
        }
        protein->residues[length++] = (residue)number;
    }
    // Scores and places are whole numbers of 32 bits.
    if (length == 0 || length > INT_MAX / 64)
        return refuse(protein, length == 0 ? "has no amino acids" : "is too long", message);
    protein->length = (int)length;
    return true;
}

static size_t count_proteins(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t at = fasta_next(text, bytes, 0, true); at < bytes;
         at = fasta_next(text, bytes, at + 1, true))
        count++;
    return count;
}

static bool read_all(struct proteins *proteins, const char *text, size_t bytes, int64_t base,
                     char *message)
{
    size_t at = fasta_next(text, bytes, 0, true);
    for (size_t i = 0; i < at; i++)
        if (!is_blank(text[i])) {
            snprintf(message, FASTA_MESSAGE_CAPACITY, "byte %" PRId64 " is before the first '>'",
                     base + (int64_t)i);
            return false;
        }
    while (at < bytes) {
        struct protein *protein = &proteins->items[proteins->count++];
        size_t line_end = end_of_line(text, bytes, at);
        size_t next = fasta_next(text, bytes, at + 1, true);
        *protein = (struct protein){.offset = at,
                                    .residues = proteins->residues + proteins->residue_count};
        if (!read_name(protein, text, line_end, base, message)
            || !read_residues(protein, text, line_end, next, message))
            return false;
        proteins->residue_count += (size_t)protein->length;
        at = next;
    }
    return true;
}

bool fasta_read(struct proteins *proteins, const char *text, size_t bytes, int64_t base,
                char message[FASTA_MESSAGE_CAPACITY])
{
    *proteins = (struct proteins){0};
    proteins->items = allocate(count_proteins(text, bytes) * sizeof *proteins->items + 1);
    proteins->residues = allocate(bytes + 1);
    if (read_all(proteins, text, bytes, base, message))
        return true;
    fasta_destroy(proteins);
    return false;
}

void fasta_destroy(struct proteins *proteins)
{
    free(proteins->items);
    free(proteins->residues);
    *proteins = (struct proteins){0};
}
