// The view of a frame: parallel projection from a direction that moves.
#ifndef FISHPLATE_APPS_VIEW_H
#define FISHPLATE_APPS_VIEW_H

#include <stdint.h>

// Of a pixel; corners of triangles are rounded to it, so that edges are exact.
enum { VIEW_SUBPIXELS = 256 };

// Depths go from 0, nearest, to this.
#define VIEW_DEPTHS UINT32_C(0x7fffffff)

struct view {
    double right[3], up[3], forward[3]; // unit vectors
    double pixels; // of a unit of length
    double centre[2]; // of the image
};

// In units of VIEW_SUBPIXELS to the pixel.
struct view_point {
    int32_t x, y;
    uint32_t depth;
};

// The whole volume is seen, from whatever direction.
struct view view_create(int width, int height, uint64_t frame);

struct view_point view_project(const struct view *view, const double place[3]);

// How far from the viewer: -sqrt(3) to sqrt(3).
double view_distance(const struct view *view, const double place[3]);

uint32_t view_depth(double distance);

#endif
