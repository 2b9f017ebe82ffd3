#include "compositing.h"

#include "buffer.h" // allocate
#include "comm.h"

#include <stdlib.h>

enum { TAG_FOLD, TAG_SWAP };

// Rows of tiles.
struct rows {
    int first, count;
};

// The rows that a rank keeps in a step, in which the ranks differ in `bit`.
static struct rows half_of(struct rows rows, int rank, int bit)
{
    int lower = rows.count / 2;
    return (rank & bit) == 0 ? (struct rows){rows.first, lower}
                             : (struct rows){rows.first + lower, rows.count - lower};
}

static void divide(struct compositing *compositing, const struct image *image)
{
    int ranks = compositing->ranks;
    for (int rank = 0; rank < ranks; rank++) {
        struct rows rows = {0, image_tile_rows(image)};
        for (int bit = 1; bit < compositing->swapping; bit *= 2)
            rows = half_of(rows, rank, bit);
        if (rank >= compositing->swapping)
            rows = (struct rows){0, 0};
        compositing->first_rows[rank] = rows.first;
        compositing->row_counts[rank] = rows.count;
    }
}

static int power_of_two_within(int ranks)
{
    int power = 1;
    while (2 * power <= ranks)
        power *= 2;
    return power;
}

// Pixels of whole rows of tiles.
static size_t pixels_in(const struct image *image, int rows)
{
    return (size_t)rows * IMAGE_TILE * (size_t)image->stride;
}

struct compositing compositing_create(const struct image *image, int rank, int ranks)
{
    struct compositing compositing = {
        .rank = rank, .ranks = ranks, .swapping = power_of_two_within(ranks)};
    size_t each = (size_t)ranks * sizeof(int);
    compositing.first_rows = allocate(each);
    compositing.row_counts = allocate(each);
    compositing.counts = allocate(each);
    compositing.offsets = allocate(each);
    divide(&compositing, image);
    int own = compositing.row_counts[rank];
    compositing.piece = allocate(pixels_in(image, own) * sizeof(uint64_t));
    compositing.received =
        allocate(pixels_in(image, image_tile_rows(image)) * sizeof(uint64_t));
    compositing.farthest =
        allocate((size_t)own * (size_t)image_tile_columns(image) * sizeof(uint32_t));
    return compositing;
}

void compositing_destroy(struct compositing *compositing)
{
    free(compositing->first_rows);
    free(compositing->row_counts);
    free(compositing->counts);
    free(compositing->offsets);
    free(compositing->piece);
    free(compositing->received);
    free(compositing->farthest);
}

size_t compositing_bytes(int width, int height, int ranks)
{
    size_t image = image_bytes(width, height);
    return image + image / (size_t)power_of_two_within(ranks);
}

void compositing_clear(struct compositing *compositing, const struct image *image)
{
    size_t count = pixels_in(image, compositing->row_counts[compositing->rank]);
    for (size_t i = 0; i < count; i++)
        compositing->piece[i] = IMAGE_EMPTY;
}

// Ranks beyond the power of two give their image to one below. False on those: they are done.
static bool fold(struct compositing *compositing, struct image *image)
{
    int rank = compositing->rank, swapping = compositing->swapping;
    size_t all = pixels_in(image, image_tile_rows(image));
    if (rank >= swapping) {
        comm_send(image->pixels, (int)all, MPI_UINT64_T, rank - swapping, TAG_FOLD, MPI_COMM_WORLD);
        return false;
    }
    if (rank + swapping < compositing->ranks) {
        comm_recv(compositing->received, (int)all, MPI_UINT64_T, rank + swapping, TAG_FOLD,
                  MPI_COMM_WORLD);
        image_merge(image->pixels, compositing->received, all);
    }
    return true;
}

static void swap(struct compositing *compositing, struct image *image, struct rows rows, int bit)
{
    int rank = compositing->rank, other = rank ^ bit;
    struct rows kept = half_of(rows, rank, bit), given = half_of(rows, other, bit);
    size_t count = pixels_in(image, kept.count);
    comm_sendrecv(image->pixels + pixels_in(image, given.first), (int)pixels_in(image, given.count),
                  MPI_UINT64_T, other, TAG_SWAP, compositing->received, (int)count, MPI_UINT64_T,
                  other, TAG_SWAP, MPI_COMM_WORLD);
    image_merge(image->pixels + pixels_in(image, kept.first), compositing->received, count);
}

void compositing_add(struct compositing *compositing, struct image *image)
{
    if (!fold(compositing, image))
        return;
    struct rows rows = {0, image_tile_rows(image)};
    for (int bit = 1; bit < compositing->swapping; bit *= 2) {
        swap(compositing, image, rows, bit);
        rows = half_of(rows, compositing->rank, bit);
    }
    image_merge(compositing->piece, image->pixels + pixels_in(image, rows.first),
                pixels_in(image, rows.count));
}

// Counts and offsets of the ranks' pieces, with so many elements in a row of tiles.
static int *piece_counts(struct compositing *compositing, size_t of_row)
{
    for (int rank = 0; rank < compositing->ranks; rank++) {
        compositing->counts[rank] = (int)((size_t)compositing->row_counts[rank] * of_row);
        compositing->offsets[rank] = (int)((size_t)compositing->first_rows[rank] * of_row);
    }
    return compositing->counts;
}

void compositing_share(struct compositing *compositing, const struct image *image,
                       struct occlusion *occlusion)
{
    int rank = compositing->rank;
    occlusion_measure(image, compositing->piece, compositing->first_rows[rank],
                      compositing->row_counts[rank], compositing->farthest);
    const int *counts = piece_counts(compositing, (size_t)occlusion->columns);
    comm_allgatherv(compositing->farthest, counts[rank], MPI_UINT32_T, occlusion->farthest, counts,
                    compositing->offsets, MPI_UINT32_T, MPI_COMM_WORLD);
}

void compositing_gather(struct compositing *compositing, struct image *picture)
{
    const int *counts = piece_counts(compositing, pixels_in(picture, 1));
    comm_gatherv(compositing->piece, counts[compositing->rank], MPI_UINT64_T, picture->pixels,
                 counts, compositing->offsets, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
