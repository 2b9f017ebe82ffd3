#include "sp_waves.h"

static const double HALF_ROOT = 0.70710678118654752440; // of 2

typedef void change(const struct derived *g, const double *u, double r[VARIABLES]);

static inline void each_point(const struct cell *cell, struct fields *fields, change *apply)
{
    for (int z = cell->first[2]; z < cell->end[2]; z++)
        for (int y = cell->first[1]; y < cell->end[1]; y++)
            for (int x = cell->first[0]; x < cell->end[0]; x++) {
                ptrdiff_t i = cell_index(cell, x, y, z);
                apply(&fields->derived[i], fields->u + i * VARIABLES, fields->rhs + i * VARIABLES);
            }
}

static inline void to_x(const struct derived *g, const double *u, double r[VARIABLES])
{
    (void)u;
    const double *v = g->velocity;
    double momentum = v[0] * r[1] + v[1] * r[2] + v[2] * r[3];
    double pressure = C2 * (g->specific * r[0] - momentum + r[4]) / (g->sound * g->sound);
    double along = HALF_ROOT * g->inverse * (v[0] * r[0] - r[1]);
    double sound = HALF_ROOT * g->inverse * g->sound * pressure;
    double second = -g->inverse * (v[2] * r[0] - r[3]), third = g->inverse * (v[1] * r[0] - r[2]);
    r[0] -= pressure;
    r[1] = second;
    r[2] = third;
    r[3] = sound - along;
    r[4] = sound + along;
}

static inline void x_to_y(const struct derived *g, const double *u, double r[VARIABLES])
{
    (void)g, (void)u;
    double turned = HALF_ROOT * r[2], mean = 0.5 * (r[3] + r[4]), first = r[0];
    r[0] = -r[1];
    r[1] = first;
    r[2] = HALF_ROOT * (r[3] - r[4]);
    r[3] = mean - turned;
    r[4] = mean + turned;
}

static inline void y_to_z(const struct derived *g, const double *u, double r[VARIABLES])
{
    (void)g, (void)u;
    double turned = HALF_ROOT * r[0], mean = 0.5 * (r[3] + r[4]), second = r[1];
    r[0] = HALF_ROOT * (r[3] - r[4]);
    r[1] = -r[2];
    r[2] = second;
    r[3] = mean - turned;
    r[4] = mean + turned;
}

static inline void from_z(const struct derived *g, const double *u, double r[VARIABLES])
{
    const double *v = g->velocity;
    double density = u[0], weight = HALF_ROOT * density;
    double sound = weight / g->sound * (r[3] + r[4]), along = weight * (r[3] - r[4]);
    double mass = r[2] + sound, first = r[0], second = r[1];
    r[0] = mass;
    r[1] = v[0] * mass - density * second;
    r[2] = v[1] * mass + density * first;
    r[3] = v[2] * mass + along;
    r[4] = density * (v[1] * first - v[0] * second) + g->specific * mass +
           g->sound * g->sound / C2 * sound + v[2] * along;
}

void to_waves_of_x(const struct cell *cell, struct fields *fields)
{
    each_point(cell, fields, to_x);
}

void from_x_to_y(const struct cell *cell, struct fields *fields)
{
    each_point(cell, fields, x_to_y);
}

void from_y_to_z(const struct cell *cell, struct fields *fields)
{
    each_point(cell, fields, y_to_z);
}

void from_waves_of_z(const struct cell *cell, struct fields *fields)
{
    each_point(cell, fields, from_z);
}
