// Latency from rank 0 to each other rank in turn, and the tiers that these form.
#include "agreement.h"
#include "idle.h"
#include "ping_pong.h"
#include "sweep.h"
#include "tiers.h"

#include <stdio.h>
#include <stdlib.h>

static const struct program program = {
    .name = "nhop",
    .purpose = "latency from rank 0 to each other rank in turn, and their tiers, in us",
    .takes = OPTIONS_SWEEP,
    .default_sizes = "8",
};

struct nhop {
    const struct session *session;
    bool talks; // this rank, with the peer in turn
    struct ping_pong ping_pong;
    struct hop *hops; // on rank 0
};

static uint64_t open_peer(void *state, size_t size, uint64_t peer)
{
    struct nhop *nhop = state;
    int rank = nhop->session->rank;
    nhop->talks = rank == 0 || rank == (int)peer;
    if (nhop->talks)
        ping_pong_open(&nhop->ping_pong, nhop->session, rank == 0 ? (int)peer : 0, 0, size);
    return 0;
}

static void close_peer(void *state)
{
    struct nhop *nhop = state;
    if (nhop->talks)
        ping_pong_close(&nhop->ping_pong);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct nhop *nhop = state;
    if (!nhop->talks)
        return 0.0;
    return ping_pong_batch(&nhop->ping_pong, count, samples);
}

// The others sleep: they may share processors with the two that talk.
static void agree(void *state, double seconds[2])
{
    struct nhop *nhop = state;
    MPI_Request request;
    double slowest[2];
    MPI_Iallreduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
    if (nhop->talks)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        idle_wait(&request);
    seconds[0] = slowest[0];
    seconds[1] = slowest[1];
}

static void print_tier_text(const struct hop *hops, size_t count)
{
    printf("# tier %d, %.2f to %.2f us: peers", hops[0].tier, hops[0].latency_us,
           hops[count - 1].latency_us);
    for (size_t i = 0; i < count; i++)
        printf(" %d", hops[i].peer);
    printf("\n");
    fflush(stdout);
}

static void print_tier_json(const struct session *session, const struct result *result,
                            const struct hop *hops, size_t count)
{
    struct record record = {
        .kind = "tier",
        .metric = "latency",
        .unit = "us",
        .value = (hops[(count - 1) / 2].latency_us + hops[count / 2].latency_us) / 2.0,
        .size = result->size,
        .turn = result->turn,
        .checked = session->options.check,
        .parameter = "tier",
        .parameter_value = hops[0].tier,
    };
    record_start(session, &record);
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i == 0 ? ",\"peers\":[" : ",", hops[i].peer);
    printf("]");
    record_end();
}

static void print_tiers(const struct nhop *nhop, const struct result *result)
{
    size_t count = (size_t)nhop->session->ranks - 1;
    tiers_find(nhop->hops, count);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && nhop->hops[next].tier == nhop->hops[first].tier;)
            next++;
        if (nhop->session->options.json)
            print_tier_json(nhop->session, result, &nhop->hops[first], next - first);
        else
            print_tier_text(&nhop->hops[first], next - first);
    }
}

static void note_latency(void *state, const struct result *result)
{
    struct nhop *nhop = state;
    // The median is what hiccups touch least.
    nhop->hops[result->parameter - 1] = (struct hop){
        .peer = (int)result->parameter, .latency_us = result->percentiles.p50};
    if ((int)result->parameter == nhop->session->ranks - 1)
        print_tiers(nhop, result);
}

int main(int argc, char **argv)
{
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "Half of the round trip from rank 0 to each other rank in turn",
        .parameter = "peer",
        .first = 1,
        .last = (uint64_t)session.ranks - 1,
        .open = open_peer,
        .batch = run_batch,
        .value = ping_pong_half_us,
        .close = close_peer,
        .agree = agree,
        .reported = note_latency,
    };
    struct nhop nhop = {.session = &session};
    nhop.hops = allocate((size_t)session.ranks * sizeof *nhop.hops);
    sweep(&session, &benchmark, &nhop);
    free(nhop.hops);
    return session_finish();
}
