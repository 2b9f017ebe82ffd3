// For so many seconds, the exchanges that the kernels of the NAS parallel benchmarks make between their computations, with
// every byte checked: faces between neighbours (MG, BT), a wave of short messages (LU), a transposition (FT), a sum (CG).
#include "common.h"

enum { FACE = 40000, WAVE_STEPS = 20, WAVE = 40, BLOCK = 100000, SUMMANDS = 1000 };

struct place {
    int rank, size;
    uint64_t round;
    unsigned char *out, *in;
};

// What rank `from` sends to rank `to` in step `step` of a round: no two messages are alike.
static uint64_t key(const struct place *place, int step, int from, int to)
{
    uint64_t pair = (uint64_t)from * (uint64_t)place->size + (uint64_t)to;
    return (place->round * 100 + (uint64_t)step) * (uint64_t)place->size * (uint64_t)place->size + pair;
}

// Both ways around the ring at once.
static void faces(const struct place *place)
{
    int next = (place->rank + 1) % place->size, previous = (place->rank + place->size - 1) % place->size;
    int neighbours[2] = {next, previous};
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++) {
        unsigned char *in = place->in + side * FACE, *out = place->out + side * FACE;
        fill(out, FACE, key(place, side, place->rank, neighbours[side]));
        MPI_Irecv(in, FACE, MPI_BYTE, neighbours[1 - side], side, MPI_COMM_WORLD, &requests[side]);
        MPI_Isend(out, FACE, MPI_BYTE, neighbours[side], side, MPI_COMM_WORLD, &requests[2 + side]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 2; side++)
        verify(place->in + side * FACE, FACE, key(place, side, neighbours[1 - side], place->rank));
}

static void wave(const struct place *place)
{
    int next = place->rank + 1, previous = place->rank - 1;
    for (int step = 0; step < WAVE_STEPS; step++) {
        if (previous >= 0) {
            MPI_Recv(place->in, WAVE, MPI_BYTE, previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            verify(place->in, WAVE, key(place, 2 + step, previous, place->rank));
        }
        if (next < place->size) {
            fill(place->out, WAVE, key(place, 2 + step, place->rank, next));
            MPI_Send(place->out, WAVE, MPI_BYTE, next, 2, MPI_COMM_WORLD);
        }
    }
}

static void transposition(const struct place *place)
{
    int step = 2 + WAVE_STEPS;
    for (int to = 0; to < place->size; to++)
        fill(place->out + to * BLOCK, BLOCK, key(place, step, place->rank, to));
    MPI_Alltoall(place->out, BLOCK, MPI_BYTE, place->in, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < place->size; from++)
        verify(place->in + from * BLOCK, BLOCK, key(place, step, from, place->rank));
}

static void sum(const struct place *place)
{
    double out[SUMMANDS], in[SUMMANDS];
    for (int i = 0; i < SUMMANDS; i++)
        out[i] = (double)(place->round + (uint64_t)(i * (place->rank + 1)));
    MPI_Allreduce(out, in, SUMMANDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < SUMMANDS; i++) {
        double wanted = (double)place->size * (double)place->round + (double)i * place->size * (place->size + 1) / 2;
        expect(in[i] == wanted, "sum %d is %g, not %g", i, in[i], wanted);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc == 2, "one argument is needed: for how many seconds");
    double seconds = strtod(argv[1], NULL), start = MPI_Wtime();
    struct place place = {.rank = rank_of(MPI_COMM_WORLD), .size = size_of(MPI_COMM_WORLD)};
    size_t room = (size_t)(place.size > 1 ? place.size : 2) * BLOCK;
    place.out = allocate(room);
    place.in = allocate(room);
    for (int over = 0; !over; place.round++) {
        faces(&place);
        wave(&place);
        transposition(&place);
        sum(&place);
        over = MPI_Wtime() - start >= seconds;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(place.out);
    free(place.in);
    all_right();
}
