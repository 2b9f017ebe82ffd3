#include "view.h"

#include <math.h>

static const double degree = 3.14159265358979323846 / 180.0;
static const double turn = 7.0, elevation = 28.0; // degrees; the turn is that of a frame
static const double margin = 0.97;

struct view view_create(int width, int height, uint64_t frame)
{
    double angle = fmod(30.0 + turn * (double)frame, 360.0) * degree, up = elevation * degree;
    double s = sin(angle), c = cos(angle), se = sin(up), ce = cos(up);
    int least = width < height ? width : height;
    return (struct view){
        .right = {c, s, 0.0},
        .up = {-s * se, c * se, ce},
        .forward = {-s * ce, c * ce, -se},
        .pixels = margin * least / (2.0 * sqrt(3.0)),
        .centre = {width / 2.0, height / 2.0},
    };
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double view_distance(const struct view *view, const double place[3])
{
    return dot(view->forward, place);
}

uint32_t view_depth(double distance)
{
    double part = (distance / sqrt(3.0) + 1.0) / 2.0;
    double bounded = part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part;
    return (uint32_t)(bounded * VIEW_DEPTHS);
}

struct view_point view_project(const struct view *view, const double place[3])
{
    double x = view->centre[0] + view->pixels * dot(view->right, place);
    double y = view->centre[1] - view->pixels * dot(view->up, place);
    return (struct view_point){(int32_t)lround(x * VIEW_SUBPIXELS),
                               (int32_t)lround(y * VIEW_SUBPIXELS),
                               view_depth(view_distance(view, place))};
}
