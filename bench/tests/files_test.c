#include "files_test.h"

#include "expect.h"

#include "../programs/io_content.h"
#include "../programs/io_tile_wall.h"

#include <stdbool.h>
#include <string.h>

enum { LENGTH = 64 };

// Content is that of its place, however it is cut.
static void test_content(void)
{
    unsigned char whole[LENGTH], part[LENGTH];
    struct mismatch wrong;
    io_content_fill(whole, 1, 1000, LENGTH);
    for (size_t first = 0; first < LENGTH; first += 3)
        for (size_t size = 0; first + size <= LENGTH; size += 5) {
            memset(part, 0, sizeof part);
            io_content_fill(part, 1, 1000 + first, size);
            EXPECT(memcmp(part, whole + first, size) == 0);
            EXPECT(io_content_compare(part, 1, 1000 + first, size, &wrong));
        }
    EXPECT(!io_content_compare(whole, 2, 1000, LENGTH, &wrong));
    EXPECT(!io_content_compare(whole, 1, 1008, LENGTH - 8, &wrong) && wrong.offset == 1008);
    whole[17] ^= 1;
    EXPECT(!io_content_compare(whole, 1, 1000, LENGTH, &wrong) && wrong.offset == 1017);
    EXPECT((wrong.got ^ wrong.expected) == 1);
}

// No byte of what was there before passes.
static void test_poison(void)
{
    unsigned char content[LENGTH], poison[LENGTH];
    io_content_fill(content, 3, 5, LENGTH);
    io_content_poison(poison, 3, 5, LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        EXPECT(content[i] != poison[i]);
}

// Each pixel of a wall belongs to as many tiles as overlap there.
static void test_wall(void)
{
    enum { WIDTH = 10, HEIGHT = 5 };
    struct options options = {
        .tiles = {3, 2}, .tile = {4, 3}, .overlap = {1, 1}, .element = 2};
    int tiles[WIDTH * HEIGHT] = {0}, covered = 0, twice = 0, four = 0;
    for (int rank = 0; rank < 6; rank++) {
        struct wall wall = wall_of(&options, rank);
        EXPECT(wall.width == WIDTH && wall.height == HEIGHT);
        EXPECT(wall.row_bytes == 2 * WIDTH && wall.tile_row_bytes == 8 && wall.tile_rows == 3);
        for (uint64_t row = 0; row < wall.tile_rows; row++)
            for (uint64_t pixel = 0; pixel < 4; pixel++)
                tiles[(wall.first + row * wall.row_bytes) / 2 + pixel]++;
    }
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        covered += tiles[i] > 0;
        twice += tiles[i] == 2;
        four += tiles[i] == 4;
    }
    EXPECT(covered == WIDTH * HEIGHT && four == 2 && twice == 2 * 4 + 8);
    EXPECT(wall_of(&options, 7).first == wall_of(&options, 1).first);
}

void test_files(void)
{
    test_content();
    test_poison();
    test_wall();
}
