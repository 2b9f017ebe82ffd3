#include "buffer.h"

#include "check.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

// A page of most machines; alignment beyond the real page size does no harm.
enum { PAGE = 4096 };

size_t buffer_stride(size_t size)
{
    return (size + CHECK_GUARD + PAGE - 1) / PAGE * PAGE;
}

void buffer_create(struct buffer *buffer, size_t size, size_t slots)
{
    buffer->stride = buffer_stride(size);
    buffer->slots = slots;
    size_t bytes = buffer->stride * slots;
    buffer->bytes = aligned_alloc(PAGE, bytes);
    if (buffer->bytes == NULL)
        session_abort(EXIT_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    memset(buffer->bytes, 0, bytes);
}

void buffer_destroy(struct buffer *buffer)
{
    free(buffer->bytes);
    buffer->bytes = NULL;
}

unsigned char *buffer_slot(const struct buffer *buffer, size_t slot)
{
    return buffer->bytes + slot % buffer->slots * buffer->stride;
}

void *allocate(size_t bytes)
{
    return reallocate(NULL, bytes);
}

void *reallocate(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        session_abort(EXIT_MEMORY, "no memory for %zu bytes", bytes);
    return memory;
}
