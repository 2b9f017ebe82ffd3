#include "window.h"

#include "verify.h"

#include <stdlib.h>

// Each flow has two tags.
enum { TAG_DATA, TAG_ACKNOWLEDGEMENT, TAGS };

static int tag_of(const struct window *window, int tag)
{
    return window->route.flow * TAGS + tag;
}

static bool sends(const struct window *window)
{
    return window->route.to != MPI_PROC_NULL;
}

static bool receives(const struct window *window)
{
    return window->route.from != MPI_PROC_NULL;
}

uint64_t window_fitting(const struct session *session, size_t size)
{
    uint64_t most = WINDOW_MEMORY / buffer_stride(size);
    if (most == 0)
        most = 1;
    return session->options.window < most ? session->options.window : most;
}

void window_open(struct window *window, const struct session *session, struct route route,
                 size_t size)
{
    const struct options *options = &session->options;
    *window = (struct window){.rank = session->rank,
                              .route = route,
                              .size = size,
                              .count = options->window,
                              .check = options->check,
                              .seed = options->seed};
    size_t slots = 1;
    if (window->check) {
        window->count = window_fitting(session, size);
        slots = window->count;
    }
    if (sends(window))
        buffer_create(&window->send, size, slots);
    if (receives(window))
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
    int tag = tag_of(window, TAG_ACKNOWLEDGEMENT);
    MPI_Sendrecv(&sent, 4, MPI_BYTE, window->route.from, tag, &received, 4, MPI_BYTE,
                 window->route.to, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
        struct content expected = content_of(window, window->route.from, slot);
        if (sends(window))
            check_fill(buffer_slot(&window->send, slot), &sent);
        if (receives(window))
            check_poison(buffer_slot(&window->receive, slot), &expected);
    }
}

static void verify_all(const struct window *window)
{
    if (!receives(window))
        return;
    for (uint64_t slot = 0; slot < window->count; slot++) {
        struct content expected = content_of(window, window->route.from, slot);
        verify(buffer_slot(&window->receive, slot), &expected, window->iteration,
               &window->statuses[slot]);
    }
}

double window_run(struct window *window)
{
    if (window->check)
        prepare(window);
    double start = MPI_Wtime();
    int size = (int)window->size, tag = tag_of(window, TAG_DATA), requests = 0;
    if (receives(window))
        for (uint64_t slot = 0; slot < window->count; slot++)
            MPI_Irecv(buffer_slot(&window->receive, slot), size, MPI_BYTE, window->route.from, tag,
                      MPI_COMM_WORLD, &window->requests[requests++]);
    if (sends(window))
        for (uint64_t slot = 0; slot < window->count; slot++)
            MPI_Isend(buffer_slot(&window->send, slot), size, MPI_BYTE, window->route.to, tag,
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
