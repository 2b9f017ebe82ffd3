#include "png.h"

#include "buffer.h" // allocate

#include <stdbool.h>
#include <stdlib.h>

uint32_t png_crc(uint32_t crc, const unsigned char *bytes, size_t count)
{
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++)
                value = (value & 1) != 0 ? UINT32_C(0xedb88320) ^ (value >> 1) : value >> 1;
            table[i] = value;
        }
    crc = ~crc;
    for (size_t i = 0; i < count; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}

uint32_t png_adler(uint32_t adler, const unsigned char *bytes, size_t count)
{
    const uint32_t modulus = 65521;
    uint32_t low = adler & 0xffff, high = adler >> 16;
    for (size_t i = 0; i < count; i++) {
        low = (low + bytes[i]) % modulus;
        high = (high + low) % modulus;
    }
    return high << 16 | low;
}

static void store(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

// A chunk is written in parts, its CRC grows with them.
static void write_part(FILE *file, uint32_t *crc, const unsigned char *bytes, size_t count)
{
    *crc = png_crc(*crc, bytes, count);
    fwrite(bytes, 1, count, file);
}

static void start_chunk(FILE *file, const char name[4], uint32_t length, uint32_t *crc)
{
    unsigned char bytes[4];
    store(bytes, length);
    fwrite(bytes, 1, 4, file);
    *crc = 0;
    write_part(file, crc, (const unsigned char *)name, 4);
}

static void end_chunk(FILE *file, uint32_t crc)
{
    unsigned char bytes[4];
    store(bytes, crc);
    fwrite(bytes, 1, 4, file);
}

static void write_header(FILE *file, int width, int height)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    fwrite(signature, 1, sizeof signature, file);
    // 8 bits for each of red, green and blue.
    unsigned char header[13] = {[8] = 8, [9] = 2};
    store(header, (uint32_t)width);
    store(header + 4, (uint32_t)height);
    uint32_t crc;
    start_chunk(file, "IHDR", sizeof header, &crc);
    write_part(file, &crc, header, sizeof header);
    end_chunk(file, crc);
}

// A row is a block of the zlib stream that is stored as it is: at most 65535 bytes, which
// 16384 pixels would not keep to, so each takes as many blocks as it needs.
enum { STORED_MOST = 65535, STORED_HEAD = 5 };

static uint32_t blocks_of(size_t bytes)
{
    return (uint32_t)((bytes + STORED_MOST - 1) / STORED_MOST);
}

static void write_stored(FILE *file, uint32_t *crc, const unsigned char *bytes, size_t count,
                         bool last)
{
    while (count > 0) {
        size_t part = count < STORED_MOST ? count : STORED_MOST;
        count -= part;
        unsigned char head[STORED_HEAD] = {
            last && count == 0, (unsigned char)part, (unsigned char)(part >> 8),
            (unsigned char)~part, (unsigned char)(~part >> 8)};
        write_part(file, crc, head, sizeof head);
        write_part(file, crc, bytes, part);
        bytes += part;
    }
}

static void write_pixels(FILE *file, int width, int height, png_colour *colour,
                         const void *picture)
{
    size_t row_bytes = 1 + 3 * (size_t)width;
    uint32_t of_row = blocks_of(row_bytes) * STORED_HEAD + (uint32_t)row_bytes;
    static const unsigned char zlib_header[2] = {0x78, 0x01};
    uint32_t crc, adler = 1;
    start_chunk(file, "IDAT", 2 + (uint32_t)height * of_row + 4, &crc);
    write_part(file, &crc, zlib_header, sizeof zlib_header);
    unsigned char *row = allocate(row_bytes);
    for (int y = 0; y < height; y++) {
        row[0] = 0; // no filter
        for (int x = 0; x < width; x++) {
            uint32_t rgb = colour(picture, x, y);
            for (int i = 0; i < 3; i++)
                row[1 + 3 * x + i] = (unsigned char)(rgb >> (16 - 8 * i));
        }
        adler = png_adler(adler, row, row_bytes);
        write_stored(file, &crc, row, row_bytes, y == height - 1);
    }
    free(row);
    unsigned char end[4];
    store(end, adler);
    write_part(file, &crc, end, sizeof end);
    end_chunk(file, crc);
}

void png_write(FILE *file, int width, int height, png_colour *colour, const void *picture)
{
    write_header(file, width, height);
    write_pixels(file, width, height, colour, picture);
    uint32_t crc;
    start_chunk(file, "IEND", 0, &crc);
    end_chunk(file, crc);
}
