// Bytes that become more.
#ifndef FISHPLATE_APPS_TEXT_H
#define FISHPLATE_APPS_TEXT_H

#include <stddef.h>

struct text {
    char *bytes; // ended by no zero
    size_t count, capacity;
};

// Abort the job when there is no memory.
void text_append(struct text *text, const void *bytes, size_t count);
void text_print(struct text *text, const char *format, ...);

void text_destroy(struct text *text);

#endif
