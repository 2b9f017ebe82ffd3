// Pairs of ranks, each a sender with windows of messages to a receiver, all at once.
#include "agreement.h"
#include "buffer.h"
#include "by_host.h"
#include "idle.h"
#include "session.h"
#include "sweep.h"
#include "window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct program program = {
    .name = "message_rate",
    .purpose = "pairs of ranks, of two hosts where there are some: n/2 send windows, in messages/s",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_PAIRS)
             | OPTION_BIT(OPTION_CROSSWISE),
    .default_sizes = "1:4K",
};

struct senders {
    const struct session *session;
    MPI_Comm comm; // ranks that talk
    int place; // in the order of hosts
    int partner;
    int half; // places between sender and receiver
    uint64_t pairs;
    struct window window;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct senders *senders = state;
    struct route route = {MPI_PROC_NULL, MPI_PROC_NULL, 0};
    int in_first_half = senders->place < senders->half;
    int turned = senders->session->options.crosswise && senders->place % senders->half % 2 == 1;
    if (in_first_half != turned)
        route.to = senders->partner;
    else
        route.from = senders->partner;
    window_open(&senders->window, senders->session, route, size);
    return senders->window.count;
}

static void close_size(void *state)
{
    struct senders *senders = state;
    window_close(&senders->window);
}

static double messages_per_second(const void *state, uint64_t iterations, double seconds)
{
    const struct senders *senders = state;
    return (double)senders->pairs * (double)senders->window.count * (double)iterations / seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct senders *senders = state;
    MPI_Barrier(senders->comm);
    window_ready(&senders->window);
    double start = MPI_Wtime();
    double checking = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double before = MPI_Wtime();
        double round = window_run(&senders->window);
        checking += MPI_Wtime() - before - round;
        // Rank 0 sees its own windows; the value is of all pairs, so the samples are as if
        // all pairs were as fast.
        if (senders->session->rank == 0)
            series_add(samples, messages_per_second(senders, 1, round));
    }
    double seconds = MPI_Wtime() - start;
    return senders->session->options.check ? seconds - checking : seconds;
}

static void agree(void *state, double seconds[2])
{
    struct senders *senders = state;
    agreement_slowest(senders->comm, seconds);
}

// The two of a pair are half of the ranks apart in the order of hosts, even when fewer talk. So they
// are on different hosts, unless one host has more than half of all.
static void find_partner(struct senders *senders)
{
    int ranks = senders->session->ranks, rank = senders->session->rank, first;
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, host);
    MPI_Comm_free(&host);
    int *of_all = allocate(2 * (size_t)ranks * sizeof *of_all), *in_order = of_all + ranks;
    MPI_Allgather(&first, 1, MPI_INT, of_all, 1, MPI_INT, MPI_COMM_WORLD);
    by_host(of_all, ranks, in_order);
    for (int place = 0; place < ranks; place++)
        if (in_order[place] == rank)
            senders->place = place;
    senders->partner = in_order[(senders->place + senders->half) % ranks];
    free(of_all);
}

static void run_pairs(struct senders *senders, const struct benchmark *benchmark)
{
    const struct session *session = senders->session;
    find_partner(senders);
    uint64_t place = (uint64_t)(senders->place % senders->half);
    int talks = place < senders->pairs;
    MPI_Comm_split(MPI_COMM_WORLD, talks, session->rank, &senders->comm);
    if (talks)
        sweep(session, benchmark, senders);
    idle_until_all_done(MPI_COMM_WORLD);
    MPI_Comm_free(&senders->comm);
}

int main(int argc, char **argv)
{
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks >= 2 && session.ranks % 2 == 0,
                          "an even number of ranks, at least 2");
    struct senders senders = {
        .session = &session, .half = session.ranks / 2, .pairs = session.options.pairs};
    if (senders.pairs == 0) {
        senders.pairs = (uint64_t)senders.half;
        // Told like one that was given.
        session.options.pairs = senders.pairs;
        session.options.given |= OPTION_BIT(OPTION_PAIRS);
    }
    char needed[64];
    snprintf(needed, sizeof needed, "at least %" PRIu64 " for --pairs %" PRIu64,
             2 * senders.pairs, senders.pairs);
    session_require_ranks(&session, senders.pairs <= (uint64_t)senders.half, needed);
    const struct benchmark benchmark = {
        .metric = "message_rate",
        .unit = "1/s",
        .column = "Messages/s",
        .decimals = 0,
        .method = session.options.crosswise
                      ? "Windows between the halves of the ranks, in the order of hosts, every second pair backwards"
                      : "Windows from the first half of the ranks, in the order of hosts, to the second",
        .pairs = senders.pairs,
        .open = open_size,
        .batch = run_batch,
        .value = messages_per_second,
        .close = close_size,
        .agree = agree,
    };
    run_pairs(&senders, &benchmark);
    return session_finish();
}
