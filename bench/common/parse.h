// Numbers, times and message sizes as a user writes them.
#ifndef FISHPLATE_BENCH_PARSE_H
#define FISHPLATE_BENCH_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Message sizes go through the `int` counts of MPI-3, which every stack has.
#define PARSE_MAX_SIZE ((size_t)INT32_MAX)

// A whole number without sign, digits only, between min and max.
bool parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count);

// Width and height, `640x480`, each between min and max.
bool parse_image(const char *text, uint64_t min, uint64_t max, uint64_t *width, uint64_t *height);

// Seconds, with or without decimals, between min and max.
bool parse_seconds(const char *text, double min, double max, double *seconds);

// Bytes with an optional K, M or G (also KiB, MiB, GiB), which are powers of 1024.
bool parse_size(const char *text, size_t max, size_t *size);

// Sizes and ranges separated by commas. A range `a:b` is a, 2a, 4a ... up to b.
// False when a part is malformed or there are more than `capacity` sizes.
bool parse_size_list(const char *text, size_t *sizes, size_t capacity, size_t *count);

#endif
