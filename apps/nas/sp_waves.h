// Changes of variables that make the equations of a line scalar: to the eigenvectors of the flux
// along an axis. RNR-94-007. All work in the inner points of a cell, on its right-hand
// side.
#ifndef FISHPLATE_APPS_SP_WAVES_H
#define FISHPLATE_APPS_SP_WAVES_H

#include "adi_flow.h"

// Waves are numbered as they are solved: three that move with the flow, then those faster and
// slower by sound.
void to_waves_of_x(const struct cell *cell, struct fields *fields);
void from_x_to_y(const struct cell *cell, struct fields *fields);
void from_y_to_z(const struct cell *cell, struct fields *fields);
void from_waves_of_z(const struct cell *cell, struct fields *fields);

#endif
