#include "visualization_test.h"

#include "drawing.h"
#include "expect.h"
#include "occlusion.h"
#include "png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_view(void)
{
    struct view view = view_create(200, 100, 5);
    const double *axes[3] = {view.right, view.up, view.forward};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double product = 0.0;
            for (int d = 0; d < 3; d++)
                product += axes[a][d] * axes[b][d];
            EXPECT(fabs(product - (a == b)) < 1e-12);
        }
    struct view_point centre = view_project(&view, (double[3]){0.0, 0.0, 0.0});
    EXPECT(centre.x == 100 * VIEW_SUBPIXELS && centre.y == 50 * VIEW_SUBPIXELS);
    EXPECT(view_depth(-2.0) == 0 && view_depth(2.0) == VIEW_DEPTHS);
}

static struct corner corner_at(double x, double y, uint32_t depth)
{
    struct view_point at = {(int32_t)(x * VIEW_SUBPIXELS), (int32_t)(y * VIEW_SUBPIXELS), depth};
    return (struct corner){at, 1.0f};
}

// Triangles round a point that lies on the centre of a pixel cover each pixel once.
static void test_edges(void)
{
    struct image all = image_create(30, 30), one = image_create(30, 30);
    double ring[][2] = {{2.5, 2.5}, {15.5, 1.5}, {27.5, 2.5}, {28.5, 15.5},
                        {27.5, 27.5}, {15.5, 28.5}, {2.5, 27.5}, {1.5, 15.5}};
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) {
        const double *a = ring[i], *b = ring[(i + 1) % 8];
        // Every second the other way round.
        struct corner corners[3] = {corner_at(15.5, 15.5, 1), corner_at(a[0], a[1], 1),
                                    corner_at(b[0], b[1], 1)};
        if (i % 2 == 1) {
            struct corner other = corners[1];
            corners[1] = corners[2];
            corners[2] = other;
        }
        image_draw(&all, corners, 0xffffff);
        image_clear(&one);
        image_draw(&one, corners, 0xffffff);
        sum += image_covered(&one);
    }
    EXPECT(sum == image_covered(&all) && sum > 600);
    image_destroy(&all);
    image_destroy(&one);
}

static void test_order(void)
{
    struct image first = image_create(20, 20), second = image_create(20, 20);
    struct corner near_by[3] = {corner_at(1, 1, 5), corner_at(19, 1, 5), corner_at(1, 19, 500)};
    struct corner behind[3] = {corner_at(0, 0, 50), corner_at(18, 2, 50), corner_at(3, 19, 50)};
    image_draw(&first, near_by, 0x102030);
    image_draw(&first, behind, 0x405060);
    image_draw(&second, behind, 0x405060);
    struct image third = image_create(20, 20);
    image_draw(&third, near_by, 0x102030);
    image_merge(second.pixels, third.pixels, (size_t)(second.stride * second.rows));
    EXPECT(memcmp(first.pixels, second.pixels, image_bytes(20, 20)) == 0);
    EXPECT(image_covered(&first) > 150 && image_colour_of(IMAGE_EMPTY) != image_colour_of(0));
    image_destroy(&first);
    image_destroy(&second);
    image_destroy(&third);
}

static void count_triangle(const struct triangle *triangle, void *state)
{
    (void)triangle;
    ++*(int *)state;
}

// All blocks of a sphere: it is closed, and its corners lie on it.
static void test_sphere(void)
{
    struct field field = field_create(SURFACE_SPHERE, 20);
    struct view view = view_create(64, 64, 0);
    struct image image = image_create(64, 64);
    struct block *block = malloc(sizeof *block);
    double greatest = 0.0;
    int triangles = 0, crossed = 0;
    uint64_t drawn = 0;
    EXPECT(block_side(&field) == 2);
    for (int i = 0; i < 8; i++) {
        block_fill(block, &field, (int[3]){i & 1, i >> 1 & 1, i >> 2});
        crossed += block->crossed;
        surface_extract(block, &field, count_triangle, &triangles);
        drawn += drawing_block_checked(block, &field, &view, &image, &greatest);
    }
    // The others are corners of the cube.
    EXPECT(crossed == 4 && drawn == (uint64_t)triangles && triangles > 1000);
    EXPECT(greatest > 0.0 && greatest <= field_error_bound(&field));
    double radius = field_radius * view.pixels, area = 3.14159265358979 * radius * radius;
    EXPECT(fabs((double)image_covered(&image) - area) < 0.05 * area);
    field_destroy(&field);
    image_destroy(&image);
    free(block);
}

static void test_occlusion(void)
{
    struct image image = image_create(20, 20);
    struct occlusion occlusion = occlusion_create(&image);
    struct extent extent = {3, 12, 3, 12, 0.0, 1.0};
    EXPECT(!occlusion_hides(&occlusion, &extent));
    struct corner wall[3] = {corner_at(-20, -20, 7), corner_at(60, -20, 7), corner_at(-20, 60, 7)};
    image_draw(&image, wall, 0xffffff);
    occlusion_measure(&image, image.pixels, 0, image_tile_rows(&image), occlusion.farthest);
    EXPECT(occlusion_hides(&occlusion, &extent));
    // A hole of a pixel, and what is in front.
    image.pixels[10 * image.stride + 10] = IMAGE_EMPTY;
    occlusion_measure(&image, image.pixels, 0, image_tile_rows(&image), occlusion.farthest);
    EXPECT(!occlusion_hides(&occlusion, &extent));
    extent.right = extent.bottom = 8;
    EXPECT(occlusion_hides(&occlusion, &extent));
    extent.nearest = -2.0;
    EXPECT(!occlusion_hides(&occlusion, &extent));
    extent.left = extent.right;
    EXPECT(occlusion_hides(&occlusion, &extent));
    occlusion_destroy(&occlusion);
    image_destroy(&image);
}

static void test_png_sums(void)
{
    // As in the specifications and in common use.
    EXPECT(png_crc(0, (const unsigned char *)"IEND", 4) == UINT32_C(0xae426082));
    EXPECT(png_crc(0, (const unsigned char *)"123456789", 9) == UINT32_C(0xcbf43926));
    EXPECT(png_adler(1, (const unsigned char *)"Wikipedia", 9) == UINT32_C(0x11e60398));
}

void test_visualization(void)
{
    test_view();
    test_edges();
    test_order();
    test_sphere();
    test_occlusion();
    test_png_sums();
}
