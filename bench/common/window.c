#include "window.h"

#include "verify.h"

#include <stdlib.h>

enum { TAG_DATA = 1, TAG_ACKNOWLEDGEMENT = 2 };

static bool has_role(const struct window *window, int role)
{
    return (window->roles & role) != 0;
}

void window_open(struct window *window, const struct session *session, int peer, size_t size,
                 int roles)
{
    const struct options *options = &session->options;
    *window = (struct window){.rank = session->rank,
                              .peer = peer,
                              .roles = roles,
                              .size = size,
                              .count = options->window,
                              .check = options->check,
                              .seed = options->seed};
    size_t slots = 1;
    if (window->check) {
        size_t most = WINDOW_MEMORY / buffer_stride(size);
        if (most == 0)
            most = 1;
        if (window->count > most)
            window->count = most;
        slots = window->count;
    }
    if (has_role(window, WINDOW_SENDS))
        buffer_create(&window->send, size, slots);
    if (has_role(window, WINDOW_RECEIVES))
        buffer_create(&window->receive, size, slots);
    window->requests = allocate(2 * window->count * sizeof *window->requests);
    window->statuses = allocate(2 * window->count * sizeof *window->statuses);
}

void window_close(struct window *window)
{
    buffer_destroy(&window->send);
    buffer_destroy(&window->receive);
    free(window->requests);
    free(window->statuses);
}

// Four bytes from every receiver to its sender.
static void acknowledge(struct window *window)
{
    int32_t sent = 1, received = 0;
    if (window->roles == (WINDOW_SENDS | WINDOW_RECEIVES))
        MPI_Sendrecv(&sent, 4, MPI_BYTE, window->peer, TAG_ACKNOWLEDGEMENT, &received, 4, MPI_BYTE,
                     window->peer, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (has_role(window, WINDOW_RECEIVES))
        MPI_Send(&sent, 4, MPI_BYTE, window->peer, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD);
    else
        MPI_Recv(&received, 4, MPI_BYTE, window->peer, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

void window_ready(struct window *window)
{
    acknowledge(window);
}

static struct content content_of(const struct window *window, int source, uint64_t slot)
{
    return (struct content){window->seed, source, window->iteration * window->count + slot,
                            window->size};
}

static void prepare(struct window *window)
{
    for (uint64_t slot = 0; slot < window->count; slot++) {
        struct content sent = content_of(window, window->rank, slot);
        struct content expected = content_of(window, window->peer, slot);
        if (has_role(window, WINDOW_SENDS))
            check_fill(buffer_slot(&window->send, slot), &sent);
        if (has_role(window, WINDOW_RECEIVES))
            check_poison(buffer_slot(&window->receive, slot), &expected);
    }
}

static void verify_all(const struct window *window)
{
    if (!has_role(window, WINDOW_RECEIVES))
        return;
    for (uint64_t slot = 0; slot < window->count; slot++) {
        struct content expected = content_of(window, window->peer, slot);
        verify(buffer_slot(&window->receive, slot), &expected, window->iteration,
               &window->statuses[slot]);
    }
}

double window_run(struct window *window)
{
    if (window->check)
        prepare(window);
    double start = MPI_Wtime();
    int size = (int)window->size, requests = 0;
    if (has_role(window, WINDOW_RECEIVES))
        for (uint64_t slot = 0; slot < window->count; slot++)
            MPI_Irecv(buffer_slot(&window->receive, slot), size, MPI_BYTE, window->peer, TAG_DATA,
                      MPI_COMM_WORLD, &window->requests[requests++]);
    if (has_role(window, WINDOW_SENDS))
        for (uint64_t slot = 0; slot < window->count; slot++)
            MPI_Isend(buffer_slot(&window->send, slot), size, MPI_BYTE, window->peer, TAG_DATA,
                      MPI_COMM_WORLD, &window->requests[requests++]);
    MPI_Waitall(requests, window->requests,
                window->check ? window->statuses : MPI_STATUSES_IGNORE);
    acknowledge(window);
    double seconds = MPI_Wtime() - start;
    if (window->check)
        verify_all(window);
    window->iteration++;
    return seconds;
}
