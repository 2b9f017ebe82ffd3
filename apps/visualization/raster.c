#include "image.h"

#include <stdbool.h>

// Twice the area of a triangle with this edge, as it grows with the third point. Coordinates
// have 23 bits at most.
struct edge {
    int64_t dx, dy; // change of value for a step in x, y
    int64_t value;
    int64_t bias; // -1 for edges whose pixels belong to the other side
};

static struct edge edge_between(struct view_point a, struct view_point b, int64_t x, int64_t y)
{
    int64_t ex = (int64_t)b.x - a.x, ey = (int64_t)b.y - a.y;
    // For triangles that go round with positive area: top edges and left ones are inside.
    bool inside = ey < 0 || (ey == 0 && ex > 0);
    return (struct edge){-ey, ex, ex * (y - a.y) - ey * (x - a.x), inside ? 0 : -1};
}

static int32_t least_of(int32_t a, int32_t b, int32_t c)
{
    int32_t least = a < b ? a : b;
    return least < c ? least : c;
}

static int32_t greatest_of(int32_t a, int32_t b, int32_t c)
{
    return -least_of(-a, -b, -c);
}

// Pixels whose centres may be inside, along one axis: the first and one past the last.
static void span(int32_t least, int32_t greatest, int limit, int *first, int *end)
{
    const int32_t half = VIEW_SUBPIXELS / 2;
    int32_t from = (least - half + VIEW_SUBPIXELS - 1) / VIEW_SUBPIXELS;
    int32_t to = greatest < half ? 0 : (greatest - half) / VIEW_SUBPIXELS + 1;
    *first = from < 0 ? 0 : from;
    *end = to > limit ? limit : to;
}

static uint32_t lit(uint32_t colour, double light)
{
    uint32_t result = 0;
    for (int shift = 16; shift >= 0; shift -= 8)
        result |= (uint32_t)((double)((colour >> shift) & 0xff) * light) << shift;
    return result;
}

// What is interpolated over a triangle, between its corners.
struct plane {
    double at_first, to_second, to_third, least, greatest;
};

static struct plane plane_over(double a, double b, double c)
{
    double least = a < b ? a : b, greatest = a < b ? b : a;
    return (struct plane){a, b - a, c - a, c < least ? c : least, c > greatest ? c : greatest};
}

// Rounding does not leave what the corners have.
static double plane_at(const struct plane *plane, double second, double third)
{
    double value = plane->at_first + second * plane->to_second + third * plane->to_third;
    return value < plane->least ? plane->least : value > plane->greatest ? plane->greatest : value;
}

static void draw_row(uint64_t *row, int first, int end, struct edge edges[3], double area,
                     const struct plane *depth, const struct plane *light, uint32_t colour)
{
    int64_t a = edges[0].value, b = edges[1].value, c = edges[2].value;
    for (int x = first; x < end; x++) {
        if (((a + edges[0].bias) | (b + edges[1].bias) | (c + edges[2].bias)) >= 0) {
            double second = (double)b / area, third = (double)c / area;
            uint64_t pixel = (uint64_t)plane_at(depth, second, third) << 32
                | lit(colour, plane_at(light, second, third));
            if (pixel < row[x])
                row[x] = pixel;
        }
        a += edges[0].dx * VIEW_SUBPIXELS;
        b += edges[1].dx * VIEW_SUBPIXELS;
        c += edges[2].dx * VIEW_SUBPIXELS;
    }
}

void image_draw(struct image *image, const struct corner corners[3], uint32_t colour)
{
    const struct corner *a = &corners[0], *b = &corners[1], *c = &corners[2];
    int64_t area = ((int64_t)b->at.x - a->at.x) * ((int64_t)c->at.y - a->at.y)
        - ((int64_t)b->at.y - a->at.y) * ((int64_t)c->at.x - a->at.x);
    if (area == 0)
        return;
    if (area < 0) {
        const struct corner *other = b;
        b = c;
        c = other;
        area = -area;
    }
    int left, right, top, bottom;
    span(least_of(a->at.x, b->at.x, c->at.x), greatest_of(a->at.x, b->at.x, c->at.x), image->width,
         &left, &right);
    span(least_of(a->at.y, b->at.y, c->at.y), greatest_of(a->at.y, b->at.y, c->at.y),
         image->height, &top, &bottom);
    if (left >= right || top >= bottom)
        return;
    int64_t x = (int64_t)left * VIEW_SUBPIXELS + VIEW_SUBPIXELS / 2;
    int64_t y = (int64_t)top * VIEW_SUBPIXELS + VIEW_SUBPIXELS / 2;
    // Each is opposite to the corner whose weight it is.
    struct edge edges[3] = {edge_between(b->at, c->at, x, y), edge_between(c->at, a->at, x, y),
                            edge_between(a->at, b->at, x, y)};
    struct plane depth = plane_over(a->at.depth, b->at.depth, c->at.depth);
    struct plane light = plane_over(a->light, b->light, c->light);
    for (int row = top; row < bottom; row++) {
        draw_row(image->pixels + (size_t)row * (size_t)image->stride, left, right, edges,
                 (double)area, &depth, &light, colour);
        for (int i = 0; i < 3; i++)
            edges[i].value += edges[i].dy * VIEW_SUBPIXELS;
    }
}
