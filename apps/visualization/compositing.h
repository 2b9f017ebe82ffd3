// The ranks' images become one by binary swap: in each step two ranks exchange halves of what
// they have, and go on with half each. Whoever is beyond a power of two gives its image away
// before. In the end each rank has a piece of the picture, of all ranks.
#ifndef FISHPLATE_APPS_COMPOSITING_H
#define FISHPLATE_APPS_COMPOSITING_H

#include "image.h"
#include "occlusion.h"

struct compositing {
    int rank, ranks, swapping; // a power of two
    uint64_t *piece; // what has been composited of this rank's rows
    uint64_t *received; // half of an image, or all of it
    // Of each rank, in rows of tiles; none beyond the power of two.
    int *first_rows, *row_counts;
    int *counts, *offsets; // the same as MPI wants it, for what is exchanged
    uint32_t *farthest; // of this rank's tiles
};

struct compositing compositing_create(const struct image *image, int rank, int ranks);
void compositing_destroy(struct compositing *compositing);
size_t compositing_bytes(int width, int height, int ranks);

// Starts a new picture.
void compositing_clear(struct compositing *compositing, const struct image *image);

// Adds what the ranks have drawn, which uses their images up.
void compositing_add(struct compositing *compositing, struct image *image);

// Tells all ranks what is covered.
void compositing_share(struct compositing *compositing, const struct image *image,
                       struct occlusion *occlusion);

// The whole picture, on rank 0.
void compositing_gather(struct compositing *compositing, struct image *picture);

#endif
