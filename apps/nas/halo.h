// The layers around a rank's points, brought from its neighbours.
#ifndef FISHPLATE_APPS_HALO_H
#define FISHPLATE_APPS_HALO_H

#include "mg_level.h"

// Room for faces: sent and received, before and after.
struct halo {
    double *sent[2], *received[2];
};

// For faces of the finest level, the largest ones.
void halo_create(struct halo *halo, const struct level *finest);
void halo_destroy(struct halo *halo);

// Fills the layers on all six sides, edges and corners too: in x, then with those layers in y, then
// in z. For owners of the level.
void halo_exchange(struct halo *halo, const struct level *level, double *array);

// Where a level is thinned, gives the ranks between two owners the points on either side of them,
// as their points 0 and 1. For owners of the finer level.
void halo_lend(struct halo *halo, const struct level *level, double *array);

#endif
