// Pictures as PNG files, without compression.
#ifndef FISHPLATE_APPS_PNG_H
#define FISHPLATE_APPS_PNG_H

#include <stdint.h>
#include <stdio.h>

// The colour of a pixel, 0xrrggbb.
typedef uint32_t png_colour(const void *picture, int x, int y);

// Errors are the file's.
void png_write(FILE *file, int width, int height, png_colour *colour, const void *picture);

// CRC-32 of a chunk so far, from 0; Adler-32 so far, from 1. RFC 2083, RFC 1950.
uint32_t png_crc(uint32_t crc, const unsigned char *bytes, size_t count);
uint32_t png_adler(uint32_t adler, const unsigned char *bytes, size_t count);

#endif
