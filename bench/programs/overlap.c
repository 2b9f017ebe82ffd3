// What of a transfer is left to wait for after a computation that was long enough for all of it.
#include "agreement.h"
#include "buffer.h"
#include "compute.h"
#include "rate.h"
#include "sweep.h"
#include "verify.h"

#include <stdio.h>

static const struct program program = {
    .name = "overlap",
    .purpose = "what of a transfer is left to wait for after a computation, in us",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WAYS) | OPTION_BIT(OPTION_SIDE)
        | OPTION_BIT(OPTION_COMPUTE) | OPTION_BIT(OPTION_COMPUTE_BY),
    .default_sizes = "8:4M",
};

// Transfers that tell how long one takes when nobody computes.
enum { TRIALS = 9 };

// Iterations whose waits are added up over the ranks at once.
enum { WAITS_CAPACITY = 256 };

// How much longer than a transfer alone the computation is, unless told: other work of the machine
// is not to decide whether all could be hidden.
static const double spare = 1.25;

enum { SENDER = 0, RECEIVER = 1, RANKS = 2, TAG = 1 };

// What a transfer takes of a rank beside the computation.
struct overlap_cost {
    double start_us; // in the calls that start it
    double wait_us; // in the call that waits for it, after the computation if there is one
    bool computes;
};

struct overlap {
    const struct session *session;
    size_t size;
    uint64_t iteration; // running number, the same on both ranks
    bool sends, receives, computes; // this rank
    struct compute compute;
    double alone_us; // a transfer without a computation
    double starting; // seconds spent in starting transfers, since the warm-up
    struct buffer send, receive;
    struct overlap_cost costs[RANKS];
};

// Seconds of one transfer.
struct course {
    double starting, waiting;
};

static struct content content_of(const struct overlap *overlap, int source)
{
    return (struct content){overlap->session->options.seed, source, overlap->iteration,
                            overlap->size};
}

static void prepare(struct overlap *overlap)
{
    int rank = overlap->session->rank;
    struct content sent = content_of(overlap, rank), coming = content_of(overlap, 1 - rank);
    check_fill(overlap->send.bytes, &sent);
    check_poison(overlap->receive.bytes, &coming);
}

static struct course transfer(struct overlap *overlap, bool computes)
{
    bool check = overlap->session->options.check;
    int size = (int)overlap->size, peer = 1 - overlap->session->rank, requests = 0;
    MPI_Request request[2];
    MPI_Status status[2];
    if (check)
        prepare(overlap);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    if (overlap->receives)
        MPI_Irecv(overlap->receive.bytes, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                  &request[requests++]);
    if (overlap->sends)
        MPI_Isend(overlap->send.bytes, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                  &request[requests++]);
    struct course course = {.starting = MPI_Wtime() - begun};
    if (computes)
        compute_run(&overlap->compute, compute_next(&overlap->compute));
    begun = MPI_Wtime();
    MPI_Waitall(requests, request, status);
    course.waiting = MPI_Wtime() - begun;
    if (check && overlap->receives) {
        struct content came = content_of(overlap, peer);
        verify(overlap->receive.bytes, &came, overlap->iteration, &status[0]);
    }
    overlap->iteration++;
    return course;
}

static double time_alone(struct overlap *overlap)
{
    double times[TRIALS];
    // The first may set up connections.
    transfer(overlap, false);
    for (int i = 0; i < TRIALS; i++) {
        struct course course = transfer(overlap, false);
        times[i] = course.starting + course.waiting;
    }
    // One way, a sender may be done long before the receiver.
    double slowest[2] = {median(times, TRIALS), 0.0};
    agreement_slowest(MPI_COMM_WORLD, slowest);
    return slowest[0];
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct overlap *overlap = state;
    overlap->size = size;
    buffer_create(&overlap->send, size, 1);
    buffer_create(&overlap->receive, size, 1);
    double alone = time_alone(overlap);
    overlap->alone_us = alone * 1e6;
    if (!options_given(&overlap->session->options, OPTION_COMPUTE))
        overlap->compute.seconds = spare * alone;
    return 0;
}

static void close_size(void *state)
{
    struct overlap *overlap = state;
    buffer_destroy(&overlap->send);
    buffer_destroy(&overlap->receive);
}

static void begin(void *state)
{
    struct overlap *overlap = state;
    overlap->starting = 0.0;
}

static double value_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return microseconds_each(iterations, seconds);
}

// Ranks that compute; the others wait for all of a transfer, which says nothing.
static double computing(const struct overlap *overlap)
{
    return overlap->session->options.side == SIDE_BOTH ? 2.0 : 1.0;
}

// A sample is the mean over those who compute.
static void add_samples(const struct overlap *overlap, double *waits, int count,
                        struct series *samples)
{
    bool root = overlap->session->rank == 0;
    for (int i = 0; i < count && !overlap->computes; i++)
        waits[i] = 0.0;
    MPI_Reduce(root ? MPI_IN_PLACE : waits, root ? waits : NULL, count, MPI_DOUBLE, MPI_SUM, 0,
               MPI_COMM_WORLD);
    for (int i = 0; root && i < count; i++)
        series_add(samples, waits[i] / computing(overlap) * 1e6);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct overlap *overlap = state;
    double seconds = 0.0, waits[WAITS_CAPACITY];
    while (count > 0) {
        int some = count < WAITS_CAPACITY ? (int)count : WAITS_CAPACITY;
        for (int i = 0; i < some; i++) {
            struct course course = transfer(overlap, overlap->computes);
            overlap->starting += course.starting;
            seconds += course.waiting;
            waits[i] = course.waiting;
        }
        add_samples(overlap, waits, some, samples);
        count -= (uint64_t)some;
    }
    return seconds;
}

static void agree(void *state, double seconds[2])
{
    const struct overlap *overlap = state;
    double sum = overlap->computes ? seconds[0] : 0.0;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    agreement_slowest(MPI_COMM_WORLD, seconds);
    seconds[0] = sum / computing(overlap);
}

// Of the waits of those who compute, of whom there is one at least.
static struct spread spread_of_waits(const struct overlap_cost *costs)
{
    struct spread spread = {0.0, 0.0, 0.0};
    int computing = 0;
    for (int rank = 0; rank < RANKS; rank++) {
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

static struct spread values_of_ranks(void *state, uint64_t iterations, double seconds)
{
    struct overlap *overlap = state;
    double own[] = {value_us(NULL, iterations, overlap->starting),
                    value_us(NULL, iterations, seconds), overlap->computes ? 1.0 : 0.0};
    enum { NUMBERS = sizeof own / sizeof own[0] };
    double all[RANKS][NUMBERS];
    MPI_Allgather(own, NUMBERS, MPI_DOUBLE, all, NUMBERS, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int rank = 0; rank < RANKS; rank++)
        overlap->costs[rank] =
            (struct overlap_cost){all[rank][0], all[rank][1], all[rank][2] > 0.0};
    return spread_of_waits(overlap->costs);
}

// Of a transfer by a computation. Below 0 when the wait is longer than a transfer without a computation.
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
    for (int rank = 0; rank < RANKS; rank++) {
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
    for (int rank = 0; rank < RANKS; rank++)
        if (costs[rank].computes)
            printf("# rank %d: %.1f %% hidden, start %.2f us, wait %.2f us\n", rank,
                   100.0 * hidden_share(&costs[rank], alone_us), costs[rank].start_us,
                   costs[rank].wait_us);
    fflush(stdout);
}

static void report(void *state, const struct result *result)
{
    const struct overlap *overlap = state;
    double compute_us = overlap->compute.seconds * 1e6;
    if (overlap->session->options.json)
        print_json(overlap->session, result, overlap->alone_us, compute_us, overlap->costs);
    else
        print_text(overlap->alone_us, compute_us, overlap->costs);
}

int main(int argc, char **argv)
{
    static const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "What is left to wait for of a transfer after a computation; mean over those "
                  "who compute",
        .open = open_size,
        .begin = begin,
        .batch = run_batch,
        .value = value_us,
        .close = close_size,
        .agree = agree,
        .over_ranks = values_of_ranks,
        .reported = report,
    };
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    bool both = session.options.ways == WAYS_BOTH;
    int side = session.options.side, rank = session.rank;
    struct overlap overlap = {
        .session = &session,
        .sends = both || rank == SENDER,
        .receives = both || rank == RECEIVER,
        .computes = side == SIDE_BOTH || (side == SIDE_SENDER) == (rank == SENDER),
        .compute = compute_create(&session.options, rank),
    };
    sweep(&session, &benchmark, &overlap);
    return session_finish();
}
