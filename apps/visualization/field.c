#include "field.h"

#include "buffer.h" // allocate

#include <math.h>
#include <stdlib.h>

const double field_radius = 0.8;

// Five periods over the volume: behind one sheet there are always others.
static const double wave_number = 5.0 * 3.14159265358979323846;

struct field field_create(int surface, int cells)
{
    struct field field = {.surface = surface, .cells = cells, .step = 2.0 / cells};
    size_t points = (size_t)cells + 3;
    field.axis = allocate(points * sizeof(struct field_axis));
    for (size_t i = 0; i < points; i++) {
        double position = -1.0 + field.step * ((double)i - 1.0);
        field.axis[i] = (struct field_axis){position, sin(wave_number * position),
                                            cos(wave_number * position)};
    }
    return field;
}

void field_destroy(struct field *field)
{
    free(field->axis);
    field->axis = NULL;
}

static double value(int surface, const struct field_axis *x, const struct field_axis *y,
                    const struct field_axis *z)
{
    if (surface == SURFACE_GYROID)
        return x->sine * y->cosine + y->sine * z->cosine + z->sine * x->cosine;
    return x->position * x->position + y->position * y->position + z->position * z->position
        - field_radius * field_radius;
}

double field_sample(const struct field *field, int i, int j, int k)
{
    return value(field->surface, &field->axis[i + 1], &field->axis[j + 1], &field->axis[k + 1]);
}

double field_position(const struct field *field, int index)
{
    return field->axis[index + 1].position;
}

double field_at(const struct field *field, const double place[3])
{
    struct field_axis axis[3];
    for (int d = 0; d < 3; d++)
        axis[d] = (struct field_axis){place[d], sin(wave_number * place[d]),
                                      cos(wave_number * place[d])};
    return value(field->surface, &axis[0], &axis[1], &axis[2]);
}

double field_error_bound(const struct field *field)
{
    // Linear interpolation over a length L is wrong by at most L^2 / 8 times the second
    // derivative: 2 for the sphere, 4 k^2 for the gyroid. L is a cell's diagonal at most.
    double square = 3.0 * field->step * field->step;
    double second = field->surface == SURFACE_GYROID ? 4.0 * wave_number * wave_number : 2.0;
    const double rounding = 1e-6; // samples are kept in single precision
    return square / 8.0 * second + rounding;
}
