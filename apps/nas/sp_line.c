#include "sp_line.h"

#include <string.h>

// Coefficients of the points two below, below, here, above, two above.
struct pentadiagonal {
    double c[5];
};

// The greatest of the factors of diffusion: viscous terms count most in the energy.
static inline double diffusion(const struct derived *g, int axis)
{
    return DIFFUSION[axis] + C1C5 * C3C4 * g->inverse;
}

static inline void set_systems(const struct derived *g, ptrdiff_t stride, int axis,
                               const double dissipation[5], const struct implicit_step *by,
                               struct pentadiagonal systems[SYSTEMS])
{
    const struct derived *above = g + stride, *below = g - stride;
    double c[5];
    for (int k = 0; k < 5; k++)
        c[k] = by->dissipation * dissipation[k];
    c[1] -= by->flux * below->velocity[axis] + by->viscous * diffusion(below, axis);
    c[2] += 1.0 + 2.0 * by->viscous * diffusion(g, axis);
    c[3] += by->flux * above->velocity[axis] - by->viscous * diffusion(above, axis);
    static const double sounds[SYSTEMS] = {0.0, 1.0, -1.0};
    for (int s = 0; s < SYSTEMS; s++) {
        memcpy(systems[s].c, c, sizeof c);
        systems[s].c[1] -= sounds[s] * by->flux * below->sound;
        systems[s].c[3] += sounds[s] * by->flux * above->sound;
    }
}

// One system of a point, by those of the two points before it; `first` to `end` are its variables.
static inline void eliminate_point(const struct pentadiagonal *system, int s, int first, int end,
                                   const double *right, const double *second_before,
                                   const double *before, double *solved)
{
    const double *c = system->c;
    double below = c[1] - c[0] * second_before[2 * s];
    double own = c[2] - c[0] * second_before[2 * s + 1] - below * before[2 * s];
    double above = c[3] - below * before[2 * s + 1];
    double scale = 1.0 / own;
    solved[2 * s] = above * scale;
    solved[2 * s + 1] = c[4] * scale;
    for (int m = first; m < end; m++) {
        int at = 2 * SYSTEMS + m;
        solved[at] = (right[m] - c[0] * second_before[at] - below * before[at]) * scale;
    }
}

void eliminate_line(const struct line *line)
{
    double *border = line->border, *solved = line->equations;
    const double *second_before = border, *before = border + EQUATION;
    for (int i = 0; i < line->length; i++) {
        ptrdiff_t point = line->start + i * line->stride;
        const double *right = line->fields->rhs + point * VARIABLES;
        struct pentadiagonal systems[SYSTEMS];
        set_systems(line->fields->derived + point, line->stride, line->axis, line->dissipation[i],
                    line->by, systems);
        eliminate_point(&systems[0], 0, 0, 3, right, second_before, before, solved);
        eliminate_point(&systems[1], 1, 3, 4, right, second_before, before, solved);
        eliminate_point(&systems[2], 2, 4, 5, right, second_before, before, solved);
        second_before = before;
        before = solved;
        solved += EQUATION;
    }
    // Of a line of one point, the second is in the border already.
    memmove(border, second_before, EQUATION * sizeof *border);
    memcpy(border + EQUATION, before, EQUATION * sizeof *border);
}

void substitute_line(const struct line *line)
{
    static const int system_of[VARIABLES] = {0, 0, 0, 1, 2};
    double *second = line->border, *next = line->border + VARIABLES;
    for (int i = line->length - 1; i >= 0; i--) {
        const double *row = line->equations + i * EQUATION;
        double *x = line->fields->rhs + (line->start + i * line->stride) * VARIABLES;
        for (int m = 0; m < VARIABLES; m++) {
            int s = system_of[m];
            x[m] = row[2 * SYSTEMS + m] - row[2 * s] * next[m] - row[2 * s + 1] * second[m];
            second[m] = next[m];
            next[m] = x[m];
        }
    }
}
