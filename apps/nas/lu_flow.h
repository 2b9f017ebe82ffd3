// The fluxes of the flow, and how they change with it, at a point of LU.
#ifndef FISHPLATE_APPS_LU_FLOW_H
#define FISHPLATE_APPS_LU_FLOW_H

#include "cfd.h"

#include <stdbool.h>

enum { X, Y, Z };

// Of a point: density, momentum in each dimension, total energy; or changes of them.
enum { DENSITY, MOMENTUM, ENERGY = MOMENTUM + AXES };

struct cell {
    double v[VARIABLES];
};

struct velocity {
    double v[AXES];
    double inverse; // of the density
    double square; // of the velocity
};

static inline struct velocity velocity_of(const struct cell *u)
{
    struct velocity w = {.inverse = 1.0 / u->v[DENSITY]};
    for (int c = 0; c < AXES; c++)
        w.v[c] = u->v[MOMENTUM + c] * w.inverse;
    w.square = w.v[X] * w.v[X] + w.v[Y] * w.v[Y] + w.v[Z] * w.v[Z];
    return w;
}

static inline double pressure_of(const struct cell *u, const struct velocity *w)
{
    return C2 * (u->v[ENERGY] - 0.5 * u->v[DENSITY] * w->square);
}

// What flows along an axis.
static inline struct cell convection(const struct cell *u, const struct velocity *w, int axis)
{
    double pressure = pressure_of(u, w), along = w->v[axis];
    struct cell flux;
    flux.v[DENSITY] = u->v[MOMENTUM + axis];
    for (int c = 0; c < AXES; c++)
        flux.v[MOMENTUM + c] = u->v[MOMENTUM + c] * along + (c == axis ? pressure : 0.0);
    flux.v[ENERGY] = along * (u->v[ENERGY] + pressure);
    return flux;
}

// What diffuses along an axis is the gradient of this.
static inline struct cell diffusing(const struct cell *u, const struct velocity *w, int axis)
{
    struct cell s;
    s.v[DENSITY] = DIFFUSION[axis] * u->v[DENSITY];
    for (int c = 0; c < AXES; c++)
        s.v[MOMENTUM + c] = DIFFUSION[axis] * u->v[MOMENTUM + c]
                            + C3C4 * (c == axis ? 4.0 / 3.0 : 1.0) * w->v[c];
    s.v[ENERGY] = DIFFUSION[axis] * u->v[ENERGY]
                  + C3C4
                        * (0.5 * (1.0 - C1C5) * w->square + w->v[axis] * w->v[axis] / 6.0
                           + C1C5 * u->v[ENERGY] * w->inverse);
    return s;
}

// Adds to `sum` how both change when u changes by d: their Jacobians times d, each by a factor.
static inline void add_change(const struct cell *u, const struct cell *d, int axis,
                              double convected, double diffused, struct cell *sum)
{
    struct velocity w = velocity_of(u);
    double pressure = pressure_of(u, &w), along = w.v[axis];
    double mass = d->v[MOMENTUM + axis] - along * d->v[DENSITY];
    double change[AXES], work = 0.0; // of the velocity
    for (int c = 0; c < AXES; c++) {
        change[c] = d->v[MOMENTUM + c] - w.v[c] * d->v[DENSITY];
        work += w.v[c] * change[c];
    }
    double push = C2 * (d->v[ENERGY] - work - 0.5 * w.square * d->v[DENSITY]);
    double energy = u->v[ENERGY] * w.inverse;

    double own = diffused * DIFFUSION[axis], viscous = diffused * C3C4 * w.inverse;
    sum->v[DENSITY] += convected * d->v[MOMENTUM + axis] + own * d->v[DENSITY];
    for (int c = 0; c < AXES; c++)
        sum->v[MOMENTUM + c]
            += convected
                   * (w.v[c] * mass + along * d->v[MOMENTUM + c] + (c == axis ? push : 0.0))
               + own * d->v[MOMENTUM + c] + viscous * (c == axis ? 4.0 / 3.0 : 1.0) * change[c];
    sum->v[ENERGY] += convected
                          * ((energy + pressure * w.inverse) * mass
                             + along * (d->v[ENERGY] + push))
                      + own * d->v[ENERGY]
                      + viscous
                            * ((1.0 - C1C5) * work + along * change[axis] / 3.0
                               + C1C5 * (d->v[ENERGY] - energy * d->v[DENSITY]));
}

#endif
