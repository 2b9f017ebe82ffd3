#include "drawing.h"

#include <math.h>

static int floor_of(double value, int limit)
{
    double bounded = value < 0.0 ? 0.0 : value > limit ? limit : value;
    return (int)bounded;
}

struct extent drawing_extent(const struct block *block, const struct field *field,
                             const struct view *view, const struct image *image)
{
    double least[2] = {INFINITY, INFINITY}, greatest[2] = {-INFINITY, -INFINITY};
    struct extent extent = {.nearest = INFINITY, .farthest = -INFINITY};
    for (int corner = 0; corner < 8; corner++) {
        double place[3];
        for (int d = 0; d < 3; d++)
            place[d] = field_position(field, block->first[d] + (corner >> d & 1) * block->cells[d]);
        struct view_point at = view_project(view, place);
        double pixel[2] = {(double)at.x / VIEW_SUBPIXELS, (double)at.y / VIEW_SUBPIXELS};
        for (int d = 0; d < 2; d++) {
            least[d] = fmin(least[d], pixel[d]);
            greatest[d] = fmax(greatest[d], pixel[d]);
        }
        double distance = view_distance(view, place);
        extent.nearest = fmin(extent.nearest, distance);
        extent.farthest = fmax(extent.farthest, distance);
    }
    // A pixel more on each side, for what rounding does.
    extent.left = floor_of(least[0] - 1.0, image->width);
    extent.right = floor_of(greatest[0] + 2.0, image->width);
    extent.top = floor_of(least[1] - 1.0, image->height);
    extent.bottom = floor_of(greatest[1] + 2.0, image->height);
    return extent;
}

struct drawing {
    const struct field *field;
    const struct view *view;
    struct image *image;
    uint64_t triangles;
    double greatest;
};

// The surface has two sides, told apart by colour, and is lit from behind the viewer's shoulder.
static const uint32_t towards = 0x6fa8dc, away = 0xe69138;

static double along(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static float light_at(const struct view *view, const double gradient[3])
{
    double length = sqrt(along(gradient, gradient));
    if (!(length > 0.0))
        return 1.0f;
    double source[3];
    for (int d = 0; d < 3; d++)
        source[d] = -0.80 * view->forward[d] - 0.36 * view->right[d] + 0.48 * view->up[d];
    double facing = along(gradient, view->forward) < 0.0 ? 1.0 : -1.0;
    double light = facing * along(gradient, source) / length;
    return (float)(0.22 + 0.78 * fmin(fmax(light, 0.0), 1.0));
}

static void draw(const struct triangle *triangle, void *state)
{
    struct drawing *drawing = state;
    struct corner corners[3];
    double facing = 0.0;
    for (int i = 0; i < 3; i++) {
        const struct vertex *vertex = &triangle->corners[i];
        corners[i] = (struct corner){view_project(drawing->view, vertex->place),
                                     light_at(drawing->view, vertex->gradient)};
        facing += along(vertex->gradient, drawing->view->forward);
    }
    drawing->triangles++;
    image_draw(drawing->image, corners, facing < 0.0 ? towards : away);
}

static void draw_checked(const struct triangle *triangle, void *state)
{
    struct drawing *drawing = state;
    for (int i = 0; i < 3; i++) {
        double value = fabs(field_at(drawing->field, triangle->corners[i].place));
        // Not fmax: what is no number must be seen.
        drawing->greatest = value <= drawing->greatest ? drawing->greatest : value;
    }
    draw(triangle, state);
}

uint64_t drawing_block(const struct block *block, const struct field *field,
                       const struct view *view, struct image *image)
{
    struct drawing drawing = {field, view, image, 0, 0.0};
    surface_extract(block, field, draw, &drawing);
    return drawing.triangles;
}

uint64_t drawing_block_checked(const struct block *block, const struct field *field,
                               const struct view *view, struct image *image, double *greatest)
{
    struct drawing drawing = {field, view, image, 0, *greatest};
    surface_extract(block, field, draw_checked, &drawing);
    *greatest = drawing.greatest;
    return drawing.triangles;
}
