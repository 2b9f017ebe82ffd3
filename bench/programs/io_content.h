// The content of a file: each byte follows from the seed and its place, so whoever reads it knows it.
#ifndef FISHPLATE_BENCH_IO_CONTENT_H
#define FISHPLATE_BENCH_IO_CONTENT_H

#include "../common/check.h"

// Content of `size` bytes of a file from `offset` on.
void io_content_fill(unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size);

// Fills with what cannot pass: the complement of the content.
void io_content_poison(unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size);

// False at the first wrong byte, whose offset is that in the file.
bool io_content_compare(const unsigned char *bytes, uint64_t seed, uint64_t offset, size_t size,
                        struct mismatch *mismatch);

#endif
