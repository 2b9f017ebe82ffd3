// What each option is called, means and allows.
#ifndef FISHPLATE_BENCH_OPTION_SPECS_H
#define FISHPLATE_BENCH_OPTION_SPECS_H

#include "options.h"

enum option_kind {
    KIND_FLAG,
    KIND_COUNT,
    KIND_SECONDS,
    KIND_SIZE,
    KIND_SIZES,
    KIND_CHOICE,
    KIND_IMAGE,
    KIND_TEXT,
    KIND_PATH
};

struct option_spec {
    const char *name;
    enum option_kind kind;
    size_t field; // offset in struct options
    uint64_t min, max; // counts, and sizes where max is not 0
    const char *argument; // of a choice: the words, separated by '|'
    const char *help;
    bool optional; // means nothing unless given
};

extern const struct option_spec option_specs[OPTION_COUNT];

bool option_taken(const struct program *program, int id);

// Sets the field from what the user wrote. False when that is not allowed.
bool option_set(const struct option_spec *spec, const char *text, struct options *options);

// What is allowed, for messages.
void option_describe(const struct option_spec *spec, char *text, size_t capacity);

// The word of a choice, and its length; the words are not ended by zeros.
const char *option_word(const struct option_spec *spec, int index, size_t *length);

#endif
