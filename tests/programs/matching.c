// What MPI says of matching: wildcards, order, probes, cancellation, synchronous and persistent operations. Rank 0
// receives from all others.
#include "common.h"

enum { MESSAGES = 40, EAGER = 3000, LONG = 400000 };

static int rank, size;
static unsigned char *buffer;

static uint64_t key(int source, int message)
{
    return (uint64_t)source * MESSAGES + (uint64_t)message;
}

// Every third message is a long one, so that protocols mix in one order.
static size_t length(int message)
{
    return message % 3 == 2 ? LONG : (size_t)(message % 2 == 0 ? 8 : EAGER);
}

static void send_all(int tag_stride)
{
    MPI_Request requests[MESSAGES];
    unsigned char *out[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        out[i] = allocate(length(i));
        fill(out[i], length(i), key(rank, i));
        MPI_Isend(out[i], (int)length(i), MPI_BYTE, 0, i * tag_stride, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++)
        free(out[i]);
}

static void check(const MPI_Status *status, int message)
{
    expect(received(status) == length(message), "message %d of rank %d has %zu bytes", message, status->MPI_SOURCE,
           received(status));
    verify(buffer, length(message), key(status->MPI_SOURCE, message));
}

// Messages of one sender come in its order, whatever the rails do.
static void any_source_any_tag(void)
{
    if (rank != 0) {
        send_all(1);
        return;
    }
    int *next = calloc((size_t)size, sizeof *next);
    for (int i = 0; i < MESSAGES * (size - 1); i++) {
        MPI_Status status;
        MPI_Recv(buffer, LONG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(status.MPI_TAG == next[status.MPI_SOURCE], "message %d of rank %d came as number %d", status.MPI_TAG,
               status.MPI_SOURCE, next[status.MPI_SOURCE]);
        check(&status, next[status.MPI_SOURCE]++);
    }
    free(next);
}

// The same tag always: only the order tells messages apart.
static void one_tag(void)
{
    if (rank != 0) {
        send_all(0);
        return;
    }
    for (int i = 0; i < MESSAGES; i++)
        for (int source = 1; source < size; source++) {
            MPI_Status status;
            MPI_Recv(buffer, LONG, MPI_BYTE, source, 0, MPI_COMM_WORLD, &status);
            check(&status, i);
        }
}

// By tag, backwards: all but the last have come unexpected.
static void by_tag_backwards(void)
{
    if (rank != 0) {
        send_all(1);
        return;
    }
    for (int i = MESSAGES - 1; i >= 0; i--)
        for (int source = 1; source < size; source++) {
            MPI_Status status;
            MPI_Recv(buffer, LONG, MPI_BYTE, source, i, MPI_COMM_WORLD, &status);
            check(&status, i);
        }
}

static void probes(void)
{
    if (rank != 0) {
        send_all(1);
        return;
    }
    for (int i = 0; i < MESSAGES * (size - 1); i++) {
        MPI_Status probed, status;
        if (i % 2 == 0) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
            expect(received(&probed) == length(probed.MPI_TAG), "a probe tells %zu bytes", received(&probed));
            MPI_Recv(buffer, LONG, MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &status);
        } else {
            MPI_Message message;
            int found = 0;
            while (!found)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &probed);
            // A probed message is out of the reach of others, even of a receive for exactly it.
            int again;
            MPI_Message second;
            MPI_Improbe(probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &again, &second, MPI_STATUS_IGNORE);
            expect(!again, "a message was found twice");
            MPI_Mrecv(buffer, LONG, MPI_BYTE, &message, &status);
        }
        expect(status.MPI_SOURCE == probed.MPI_SOURCE && status.MPI_TAG == probed.MPI_TAG, "a probe told another message");
        check(&status, status.MPI_TAG);
    }
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    expect(!found, "a probe finds a message where there is none");
}

// Cancelled receives take nothing: the messages go to the receives that stay.
static void cancellation(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(1);
        return;
    }
    MPI_Request requests[4];
    for (int i = 0; i < 4; i++)
        MPI_Irecv(buffer, LONG, MPI_BYTE, i % 2 == 0 ? MPI_ANY_SOURCE : 1, i < 2 ? MPI_ANY_TAG : 0, MPI_COMM_WORLD,
                  &requests[i]);
    for (int i = 0; i < 4; i++) {
        MPI_Status status;
        int cancelled;
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &cancelled);
        expect(cancelled, "receive %d without a message was not cancelled", i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; i++)
        for (int source = 1; source < size; source++) {
            MPI_Status status;
            MPI_Recv(buffer, LONG, MPI_BYTE, source, i, MPI_COMM_WORLD, &status);
            check(&status, i);
        }
}

// A synchronous send ends only once its receive has begun.
static void synchronous(size_t bytes)
{
    if (rank == 1) {
        MPI_Request request;
        int done;
        unsigned char *out = allocate(bytes);
        fill(out, bytes, 7);
        MPI_Issend(out, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        // Rank 0 answers these while it has not posted the receive.
        for (int i = 0; i < 100; i++) {
            MPI_Sendrecv(&i, 1, MPI_INT, 0, 2, &done, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            expect(!done, "a synchronous send of %zu bytes ended before its receive", bytes);
        }
        MPI_Send(&done, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        free(out);
    } else if (rank == 0) {
        int number;
        for (int i = 0; i < 100; i++)
            MPI_Sendrecv(&i, 1, MPI_INT, 1, 2, &number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(buffer, bytes, 7);
    }
}

// Persistent requests, started again and again; ready sends, whose receive is posted.
static void persistent(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    unsigned char *out[2] = {allocate(EAGER), allocate(LONG)}, *in[2] = {allocate(EAGER), allocate(LONG)};
    static const int lengths[2] = {EAGER, LONG};
    MPI_Request requests[4];
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(in[i], lengths[i], MPI_BYTE, before, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(out[i], lengths[i], MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    for (int round = 0; round < MESSAGES; round++) {
        for (int i = 0; i < 2; i++)
            fill(out[i], (size_t)lengths[i], key(rank, round));
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2; i++)
            verify(in[i], (size_t)lengths[i], key(before, round));
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Request receive;
        fill(out[i], (size_t)lengths[i], key(rank, i));
        MPI_Irecv(in[i], lengths[i], MPI_BYTE, before, i, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Rsend(out[i], lengths[i], MPI_BYTE, next, i, MPI_COMM_WORLD);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        verify(in[i], (size_t)lengths[i], key(before, i));
        free(out[i]);
        free(in[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    buffer = allocate(LONG);
    void (*const parts[])(void) = {any_source_any_tag, one_tag, by_tag_backwards, probes, cancellation, persistent};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        parts[i]();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    synchronous(0);
    synchronous(100);
    synchronous(EAGER);
    synchronous(LONG);
    free(buffer);
    all_right();
}
