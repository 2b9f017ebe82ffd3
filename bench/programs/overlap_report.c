#include "overlap_report.h"

#include <stdio.h>

struct spread overlap_spread(const struct overlap_cost *costs)
{
    struct spread spread = {0.0, 0.0, 0.0};
    int computing = 0;
    for (int rank = 0; rank < OVERLAP_RANKS; rank++) {
        double wait_us = costs[rank].wait_us;
        if (!costs[rank].computes)
            continue;
        if (computing == 0 || wait_us < spread.min)
            spread.min = wait_us;
        if (computing == 0 || wait_us > spread.max)
            spread.max = wait_us;
        spread.mean += wait_us;
        computing++;
    }
    spread.mean /= computing;
    return spread;
}

// Below 0 when the wait is longer than a transfer without a computation.
static double hidden_share(const struct overlap_cost *cost, double alone_us)
{
    return 1.0 - cost->wait_us / alone_us;
}

static void print_json(const struct session *session, const struct result *result, double alone_us,
                       double compute_us, const struct overlap_cost *costs)
{
    struct record record = {
        .kind = "overlap",
        .metric = "latency",
        .unit = "us",
        .value = alone_us,
        .size = result->size,
        .turn = result->turn,
        .checked = session->options.check,
    };
    record_start(session, &record);
    printf(",\"compute_us\":%.9g,\"per_rank\":[", compute_us);
    for (int rank = 0; rank < OVERLAP_RANKS; rank++) {
        const struct overlap_cost *cost = &costs[rank];
        printf("%s{\"rank\":%d,\"computes\":%s,\"start_us\":%.9g,\"wait_us\":%.9g",
               rank == 0 ? "" : ",", rank, cost->computes ? "true" : "false", cost->start_us,
               cost->wait_us);
        if (cost->computes)
            printf(",\"hidden_share\":%.9g}", hidden_share(cost, alone_us));
        else
            printf(",\"hidden_share\":null}");
    }
    printf("]");
    record_end();
}

static void print_text(double alone_us, double compute_us,
                       const struct overlap_cost *costs)
{
    printf("# %.2f us without a computation, which takes %.2f us\n", alone_us, compute_us);
    for (int rank = 0; rank < OVERLAP_RANKS; rank++)
        if (costs[rank].computes)
            printf("# rank %d: %.1f %% hidden, start %.2f us, wait %.2f us\n", rank,
                   100.0 * hidden_share(&costs[rank], alone_us), costs[rank].start_us,
                   costs[rank].wait_us);
    fflush(stdout);
}

void overlap_report(const struct session *session, const struct result *result, double alone_us,
                    double compute_us, const struct overlap_cost *costs)
{
    if (session->options.json)
        print_json(session, result, alone_us, compute_us, costs);
    else
        print_text(alone_us, compute_us, costs);
}
