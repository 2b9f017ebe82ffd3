// What the test programs share: expectations, and contents of messages.
#ifndef FISHPLATE_TESTS_COMMON_H
#define FISHPLATE_TESTS_COMMON_H

#include <mpi.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int rank_of(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

static inline int size_of(MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    return size;
}

// Ends the job with a message unless `holds`.
static inline void expect(bool holds, const char *format, ...)
{
    if (holds)
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d: not as expected: %s\n", rank_of(MPI_COMM_WORLD), text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static inline void *allocate(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    expect(memory != NULL, "no memory for %zu bytes", size);
    return memory;
}

// The byte at `offset` of message `key`: differs with both.
static inline unsigned char content(uint64_t key, size_t offset)
{
    uint64_t mixed = (key + 1) * UINT64_C(0x9E3779B97F4A7C15) + offset * UINT64_C(0xBF58476D1CE4E5B9);
    return (unsigned char)(mixed >> 56 ^ mixed >> 24);
}

static inline void fill(unsigned char *bytes, size_t size, uint64_t key)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = content(key, i);
}

static inline void verify(const unsigned char *bytes, size_t size, uint64_t key)
{
    for (size_t i = 0; i < size; i++)
        expect(bytes[i] == content(key, i), "byte %zu of %zu of message %llu is 0x%02x, not 0x%02x", i, size,
               (unsigned long long)key, bytes[i], content(key, i));
}

// Bytes that a receive brought.
static inline size_t received(const MPI_Status *status)
{
    MPI_Count count;
    MPI_Get_elements_x(status, MPI_BYTE, &count);
    return (size_t)count;
}

// A field of /proc/self/status in KiB.
static inline long memory_kib(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    expect(file != NULL, "/proc/self/status cannot be read");
    char line[256];
    long kib = -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            kib = strtol(line + strlen(field) + 1, NULL, 10);
    fclose(file);
    return kib;
}

// The last line of every program, by rank 0, when all ranks have come to their end.
static inline void all_right(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0)
        puts("all right");
    MPI_Finalize();
}

#endif
