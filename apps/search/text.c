#include "text.h"

#include "buffer.h" // reallocate

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_append(struct text *text, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    if (text->count + count > text->capacity) {
        text->capacity = 2 * (text->count + count);
        text->bytes = reallocate(text->bytes, text->capacity);
    }
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
}

void text_print(struct text *text, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t most = sizeof line - 1;
    text_append(text, line, (size_t)length < most ? (size_t)length : most);
}

void text_destroy(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}
