// FT's sizes and checksums, by class.
#ifndef FISHPLATE_APPS_FT_PROBLEM_H
#define FISHPLATE_APPS_FT_PROBLEM_H

#include "nas.h"

#include <complex.h>

enum { FT_MAX_ITERATIONS = 20 };

struct ft_problem {
    int nx, ny, nz; // powers of two
    int iterations;
    double complex checksums[FT_MAX_ITERATIONS];
};

extern const struct ft_problem ft_problems[NAS_CLASSES];

#endif
