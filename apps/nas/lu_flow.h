// The compressible Navier-Stokes equations in three dimensions, as RNR-94-007 states them for LU.
#ifndef FISHPLATE_APPS_LU_FLOW_H
#define FISHPLATE_APPS_LU_FLOW_H

#include <stdbool.h>

enum { X, Y, Z, DIMENSIONS };

// Of a point: density, momentum in each dimension, total energy; or changes of them.
enum { DENSITY, MOMENTUM, ENERGY = MOMENTUM + DIMENSIONS, LU_VALUES };

struct cell {
    double v[LU_VALUES];
};

// The paper's k1 ... k5.
#define K1 1.4
#define K2 0.4
#define K3 0.1
#define K4 1.0
#define K5 1.4
#define VISCOSITY (K3 * K4)

// Artificial diffusion of second order in each dimension, and dissipation of fourth order, a
// quarter of the greatest.
static const double diffusion[DIMENSIONS] = {0.75, 0.75, 1.0};
static const double dissipation = 0.25;

struct velocity {
    double v[DIMENSIONS];
    double inverse; // of the density
    double square; // of the velocity
};

static inline struct velocity velocity_of(const struct cell *u)
{
    struct velocity w = {.inverse = 1.0 / u->v[DENSITY]};
    for (int c = 0; c < DIMENSIONS; c++)
        w.v[c] = u->v[MOMENTUM + c] * w.inverse;
    w.square = w.v[X] * w.v[X] + w.v[Y] * w.v[Y] + w.v[Z] * w.v[Z];
    return w;
}

static inline double pressure_of(const struct cell *u, const struct velocity *w)
{
    return K2 * (u->v[ENERGY] - 0.5 * u->v[DENSITY] * w->square);
}

// What flows along an axis.
static inline struct cell convection(const struct cell *u, const struct velocity *w, int axis)
{
    double pressure = pressure_of(u, w), along = w->v[axis];
    struct cell flux;
    flux.v[DENSITY] = u->v[MOMENTUM + axis];
    for (int c = 0; c < DIMENSIONS; c++)
        flux.v[MOMENTUM + c] = u->v[MOMENTUM + c] * along + (c == axis ? pressure : 0.0);
    flux.v[ENERGY] = along * (u->v[ENERGY] + pressure);
    return flux;
}

// What diffuses along an axis is the gradient of this.
static inline struct cell diffusing(const struct cell *u, const struct velocity *w, int axis)
{
    struct cell s;
    s.v[DENSITY] = diffusion[axis] * u->v[DENSITY];
    for (int c = 0; c < DIMENSIONS; c++)
        s.v[MOMENTUM + c] = diffusion[axis] * u->v[MOMENTUM + c]
                            + VISCOSITY * (c == axis ? 4.0 / 3.0 : 1.0) * w->v[c];
    s.v[ENERGY] = diffusion[axis] * u->v[ENERGY]
                  + VISCOSITY
                        * (0.5 * (1.0 - K1 * K5) * w->square + w->v[axis] * w->v[axis] / 6.0
                           + K1 * K5 * u->v[ENERGY] * w->inverse);
    return s;
}

// Adds to `sum` how both change when u changes by d: their Jacobians times d, each by a factor.
static inline void add_change(const struct cell *u, const struct cell *d, int axis,
                              double convected, double diffused, struct cell *sum)
{
    struct velocity w = velocity_of(u);
    double pressure = pressure_of(u, &w), along = w.v[axis];
    double mass = d->v[MOMENTUM + axis] - along * d->v[DENSITY];
    double change[DIMENSIONS], work = 0.0; // of the velocity
    for (int c = 0; c < DIMENSIONS; c++) {
        change[c] = d->v[MOMENTUM + c] - w.v[c] * d->v[DENSITY];
        work += w.v[c] * change[c];
    }
    double push = K2 * (d->v[ENERGY] - work - 0.5 * w.square * d->v[DENSITY]);
    double energy = u->v[ENERGY] * w.inverse;

    double own = diffused * diffusion[axis], viscous = diffused * VISCOSITY * w.inverse;
    sum->v[DENSITY] += convected * d->v[MOMENTUM + axis] + own * d->v[DENSITY];
    for (int c = 0; c < DIMENSIONS; c++)
        sum->v[MOMENTUM + c]
            += convected
                   * (w.v[c] * mass + along * d->v[MOMENTUM + c] + (c == axis ? push : 0.0))
               + own * d->v[MOMENTUM + c] + viscous * (c == axis ? 4.0 / 3.0 : 1.0) * change[c];
    sum->v[ENERGY] += convected
                          * ((energy + pressure * w.inverse) * mass
                             + along * (d->v[ENERGY] + push))
                      + own * d->v[ENERGY]
                      + viscous
                            * ((1.0 - K1 * K5) * work + along * change[axis] / 3.0
                               + K1 * K5 * (d->v[ENERGY] - energy * d->v[DENSITY]));
}

#endif
