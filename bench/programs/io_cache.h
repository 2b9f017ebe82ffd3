// The page cache between a program and its file system.
#ifndef FISHPLATE_BENCH_IO_CACHE_H
#define FISHPLATE_BENCH_IO_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that O_DIRECT wants memory, places and lengths to be multiples of: what all file systems
// are content with.
enum { CACHE_ALIGNMENT = 4096 };

// Bytes that are free at a path; false when the file system does not tell.
bool cache_free_bytes(const char *path, uint64_t *bytes);

// The name of the file system at a path.
void cache_name_file_system(const char *path, char *name, size_t capacity);

// Whether the page cache is all that there is of the file system.
bool cache_is_file_system(const char *path);

// Whether a file in the folder can be written without the page cache; makes one and removes it.
bool cache_can_bypass(const char *folder);

// What was written is with the file system. Why not; NULL: it is.
const char *cache_sync(int fd);

// Pages of a file that are clean are in memory no more. 0 bytes: to its end.
void cache_drop(int fd, uint64_t offset, size_t size);

#endif
