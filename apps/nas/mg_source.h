// The right-hand side: +1 at the ten largest and -1 at the ten smallest of random numbers, one for
// each point, x running fastest, then y, then z. RNR-94-007, kernel MG.
#ifndef FISHPLATE_APPS_MG_SOURCE_H
#define FISHPLATE_APPS_MG_SOURCE_H

#include "mg_level.h"

// `log2_points`: of the whole cube. All ranks call it.
void set_source(const struct level *finest, int log2_points, double *source);

#endif
