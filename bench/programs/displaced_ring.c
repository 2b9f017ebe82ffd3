// Every rank sends windows to rank + d and receives from rank - d, for each distance d.
#include "agreement.h"
#include "rate.h"
#include "sweep.h"
#include "window.h"

static const struct program program = {
    .name = "displaced_ring",
    .purpose = "all ranks at once send to rank + d, for d = 1..n/2, in MB/s that each sends",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW),
    .default_sizes = "1M",
};

struct ring {
    const struct session *session;
    struct window window;
};

static uint64_t open_distance(void *state, size_t size, uint64_t distance)
{
    struct ring *ring = state;
    int rank = ring->session->rank, ranks = ring->session->ranks, d = (int)distance;
    struct route route = {(rank + d) % ranks, (rank - d + ranks) % ranks, 0};
    window_open(&ring->window, ring->session, route, size);
    return ring->window.count;
}

static void close_distance(void *state)
{
    struct ring *ring = state;
    window_close(&ring->window);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct ring *ring = state;
    return megabytes_per_second(ring->window.size, ring->window.count * iterations, seconds);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct ring *ring = state;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = window_run(&ring->window);
        seconds += round;
        if (ring->session->rank == 0)
            series_add(samples, rate(ring, 1, round));
    }
    return seconds;
}

static struct spread rates_of_ranks(void *state, uint64_t iterations, double seconds)
{
    return agreement_spread(rate(state, iterations, seconds));
}

int main(int argc, char **argv)
{
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = "Windows of messages from every rank to the one at a distance, all at once; "
                  "mean over the ranks",
        .parameter = "distance",
        .first = 1,
        .last = (uint64_t)session.ranks / 2,
        .open = open_distance,
        .batch = run_batch,
        .value = rate,
        .close = close_distance,
        .agree = agreement_mean_of_all,
        .over_ranks = rates_of_ranks,
    };
    struct ring ring = {.session = &session};
    sweep(&session, &benchmark, &ring);
    return session_finish();
}
