// Page-aligned message buffers, in slots of equal size.
#ifndef FISHPLATE_BENCH_BUFFER_H
#define FISHPLATE_BENCH_BUFFER_H

#include <stddef.h>

struct buffer {
    unsigned char *bytes;
    size_t stride; // from one slot to the next, whole pages
    size_t slots;
};

// Bytes a slot takes for messages of `size` bytes and the guard of check.h.
size_t buffer_stride(size_t size);

// Every page is written once, so that page faults are not part of what is measured.
// Aborts the job when there is no memory.
void buffer_create(struct buffer *buffer, size_t size, size_t slots);
void buffer_destroy(struct buffer *buffer);

unsigned char *buffer_slot(const struct buffer *buffer, size_t slot);

// malloc that aborts the job instead of returning NULL.
void *allocate(size_t bytes);

// realloc, likewise.
void *reallocate(void *memory, size_t bytes);

#endif
