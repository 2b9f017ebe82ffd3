#include "halo.h"

#include "buffer.h"
#include "comm.h"

#include <stdlib.h>
#include <string.h>

// Directions, and the tags of what travels in them.
enum { BACKWARD, FORWARD };

void halo_create(struct halo *halo, const struct level *finest)
{
    size_t largest = 0;
    for (int d = X; d < DIMENSIONS; d++) {
        size_t face = level_bytes(finest) / ((size_t)finest->axes[d].points + 2);
        largest = face > largest ? face : largest;
    }
    for (int side = BACKWARD; side <= FORWARD; side++) {
        halo->sent[side] = allocate(largest);
        halo->received[side] = allocate(largest);
    }
}

void halo_destroy(struct halo *halo)
{
    for (int side = BACKWARD; side <= FORWARD; side++) {
        free(halo->sent[side]);
        free(halo->received[side]);
    }
}

// A layer of an array: index ranges, of which one is a single index.
struct face {
    const struct level *level;
    int from[DIMENSIONS], to[DIMENSIONS]; // both included
};

// Across dimension `across`, with the outer layers of those dimensions below `filled`.
static struct face face_at(const struct level *level, int across, int index, int filled)
{
    struct face face = {.level = level};
    for (int d = X; d < DIMENSIONS; d++) {
        int points = level->axes[d].points;
        face.from[d] = d == across ? index : d < filled ? 0 : 1;
        face.to[d] = d == across ? index : d < filled ? points + 1 : points;
    }
    return face;
}

static int face_count(const struct face *face)
{
    int count = 1;
    for (int d = X; d < DIMENSIONS; d++)
        count *= face->to[d] - face->from[d] + 1;
    return count;
}

static void pack(const struct face *face, const double *array, double *packed)
{
    int length = face->to[X] - face->from[X] + 1;
    for (int z = face->from[Z]; z <= face->to[Z]; z++)
        for (int y = face->from[Y]; y <= face->to[Y]; y++, packed += length)
            memcpy(packed, array + level_index(face->level, face->from[X], y, z),
                   (size_t)length * sizeof *packed);
}

static void unpack(const struct face *face, double *array, const double *packed)
{
    int length = face->to[X] - face->from[X] + 1;
    for (int z = face->from[Z]; z <= face->to[Z]; z++)
        for (int y = face->from[Y]; y <= face->to[Y]; y++, packed += length)
            memcpy(array + level_index(face->level, face->from[X], y, z), packed,
                   (size_t)length * sizeof *packed);
}

// The other side of a dimension that no other rank has points of is the own one.
static void wrap(struct halo *halo, const struct level *level, double *array, int d)
{
    int points = level->axes[d].points;
    int own[2] = {1, points}, layer[2] = {points + 1, 0};
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face from = face_at(level, d, own[side], d);
        struct face to = face_at(level, d, layer[side], d);
        pack(&from, array, halo->sent[side]);
        unpack(&to, array, halo->sent[side]);
    }
}

static void exchange_faces(struct halo *halo, const struct level *level, double *array, int d)
{
    const struct axis *axis = &level->axes[d];
    // By the direction in which they travel.
    int to[2] = {axis->before, axis->after}, from[2] = {axis->after, axis->before};
    int own[2] = {1, axis->points}, layer[2] = {axis->points + 1, 0};
    MPI_Request requests[4];
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face face = face_at(level, d, layer[side], d);
        comm_irecv(halo->received[side], face_count(&face), MPI_DOUBLE, from[side], side,
                   MPI_COMM_WORLD, &requests[side]);
    }
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face face = face_at(level, d, own[side], d);
        pack(&face, array, halo->sent[side]);
        comm_isend(halo->sent[side], face_count(&face), MPI_DOUBLE, to[side], side,
                   MPI_COMM_WORLD, &requests[2 + side]);
    }
    comm_waitall(4, requests);
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face face = face_at(level, d, layer[side], d);
        unpack(&face, array, halo->received[side]);
    }
}

void halo_exchange(struct halo *halo, const struct level *level, double *array)
{
    for (int d = X; d < DIMENSIONS; d++) {
        if (level->axes[d].owners == 1)
            wrap(halo, level, array, d);
        else
            exchange_faces(halo, level, array, d);
    }
}

// An owner's only point goes both ways.
static void lend_face(struct halo *halo, const struct level *level, const double *array, int d)
{
    const struct axis *axis = &level->axes[d];
    struct face face = face_at(level, d, 1, DIMENSIONS);
    pack(&face, array, halo->sent[0]);
    int to[2] = {axis->finer_before, axis->finer_after};
    MPI_Request requests[2];
    for (int side = BACKWARD; side <= FORWARD; side++)
        comm_isend(halo->sent[0], face_count(&face), MPI_DOUBLE, to[side], side, MPI_COMM_WORLD,
                   &requests[side]);
    comm_waitall(2, requests);
}

static void borrow_faces(struct halo *halo, const struct level *level, double *array, int d)
{
    const struct axis *axis = &level->axes[d];
    int from[2] = {axis->finer_after, axis->finer_before}, layer[2] = {1, 0};
    MPI_Request requests[2];
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face face = face_at(level, d, layer[side], DIMENSIONS);
        comm_irecv(halo->received[side], face_count(&face), MPI_DOUBLE, from[side], side,
                   MPI_COMM_WORLD, &requests[side]);
    }
    comm_waitall(2, requests);
    for (int side = BACKWARD; side <= FORWARD; side++) {
        struct face face = face_at(level, d, layer[side], DIMENSIONS);
        unpack(&face, array, halo->received[side]);
    }
}

void halo_lend(struct halo *halo, const struct level *level, double *array)
{
    for (int d = X; d < DIMENSIONS; d++) {
        // Owners in z lend in x and y first; whoever has something by then lends it on in z.
        bool has_turn = level->axes[d].thinned;
        for (int later = d + 1; later < DIMENSIONS; later++)
            has_turn = has_turn && level->axes[later].owner;
        if (!has_turn)
            continue;
        if (level->axes[d].owner)
            lend_face(halo, level, array, d);
        else
            borrow_faces(halo, level, array, d);
    }
}
