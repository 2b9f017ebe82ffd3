// What most MPI programs do all day: compute, exchange with the neighbours, compute.
#include "agreement.h"
#include "buffer.h"
#include "compute.h"
#include "neighbours.h"
#include "rate.h"
#include "sweep.h"
#include "verify.h"

static const struct program program = {
    .name = "exchange",
    .purpose = "messages to and from all neighbours at once, after a computation, in us",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_DIMENSIONS) | OPTION_BIT(OPTION_NEIGHBOURS)
        | OPTION_BIT(OPTION_SEND) | OPTION_BIT(OPTION_COMPUTE) | OPTION_BIT(OPTION_IMBALANCE)
        | OPTION_BIT(OPTION_COMPUTE_BY),
    .default_sizes = "8:4M",
};

struct exchange {
    const struct session *session;
    struct neighbour neighbours[MAX_NEIGHBOURS];
    int count; // of them
    size_t size;
    uint64_t iteration; // running number, the same on all ranks
    struct compute compute;
    struct buffer send, receive; // a slot for each message
    MPI_Request requests[2 * MAX_NEIGHBOURS];
    MPI_Status statuses[2 * MAX_NEIGHBOURS];
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct exchange *exchange = state;
    exchange->size = size;
    // Programs have halos in places of their own, so these do not share one in a cache.
    buffer_create(&exchange->send, size, (size_t)exchange->count);
    buffer_create(&exchange->receive, size, (size_t)exchange->count);
    return 0;
}

static void close_size(void *state)
{
    struct exchange *exchange = state;
    buffer_destroy(&exchange->send);
    buffer_destroy(&exchange->receive);
}

static struct content content_of(const struct exchange *exchange, int source, int tag)
{
    return (struct content){exchange->session->options.seed, source,
                            exchange->iteration * MAX_NEIGHBOURS + (uint64_t)tag, exchange->size};
}

static struct content expected(const struct exchange *exchange, int i)
{
    const struct neighbour *neighbour = &exchange->neighbours[i];
    return content_of(exchange, neighbour->rank, neighbour->receives);
}

static void prepare(struct exchange *exchange)
{
    for (int i = 0; i < exchange->count; i++) {
        int own = exchange->session->rank;
        struct content sent = content_of(exchange, own, exchange->neighbours[i].sends);
        struct content coming = expected(exchange, i);
        check_fill(buffer_slot(&exchange->send, (size_t)i), &sent);
        check_poison(buffer_slot(&exchange->receive, (size_t)i), &coming);
    }
}

static void verify_all(const struct exchange *exchange)
{
    for (int i = 0; i < exchange->count; i++) {
        struct content came = expected(exchange, i);
        verify(buffer_slot(&exchange->receive, (size_t)i), &came, exchange->iteration,
               &exchange->statuses[i]);
    }
}

static void exchange_messages(struct exchange *exchange)
{
    int size = (int)exchange->size, requests = 0;
    for (int i = 0; i < exchange->count; i++)
        MPI_Irecv(buffer_slot(&exchange->receive, (size_t)i), size, MPI_BYTE,
                  exchange->neighbours[i].rank, exchange->neighbours[i].receives, MPI_COMM_WORLD,
                  &exchange->requests[requests++]);
    for (int i = 0; i < exchange->count; i++) {
        const void *halo = buffer_slot(&exchange->send, (size_t)i);
        int to = exchange->neighbours[i].rank, tag = exchange->neighbours[i].sends;
        if (exchange->session->options.send == SEND_BLOCKING)
            MPI_Send(halo, size, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        else
            MPI_Isend(halo, size, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                      &exchange->requests[requests++]);
    }
    MPI_Waitall(requests, exchange->requests, exchange->statuses);
}

static double run_once(struct exchange *exchange)
{
    bool check = exchange->session->options.check;
    if (check)
        prepare(exchange);
    compute_run(&exchange->compute, compute_next(&exchange->compute));
    double start = MPI_Wtime();
    exchange_messages(exchange);
    double seconds = MPI_Wtime() - start;
    if (check)
        verify_all(exchange);
    exchange->iteration++;
    return seconds;
}

static double value_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return microseconds_each(iterations, seconds);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct exchange *exchange = state;
    // Not before each exchange: neighbours that wait for each other are part of the pattern.
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double once = run_once(exchange);
        seconds += once;
        if (exchange->session->rank == 0)
            series_add(samples, value_us(NULL, 1, once));
    }
    return seconds;
}

static struct spread values_of_ranks(void *state, uint64_t iterations, double seconds)
{
    return agreement_spread(value_us(state, iterations, seconds));
}

static void find_neighbours(struct exchange *exchange)
{
    const struct session *session = exchange->session;
    if (session->options.neighbours > 0) {
        exchange->count = (int)session->options.neighbours;
        neighbours_in_pairs(session->rank, session->ranks, exchange->count, exchange->neighbours);
        return;
    }
    int extents[MAX_DIMENSIONS] = {0}, dimensions = (int)session->options.dimensions;
    MPI_Dims_create(session->ranks, dimensions, extents);
    exchange->count =
        neighbours_in_grid(session->rank, extents, dimensions, exchange->neighbours);
}

int main(int argc, char **argv)
{
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    session_require_ranks(&session, session.options.neighbours == 0 || session.ranks % 2 == 0,
                          "an even number of ranks with --neighbours");
    struct exchange exchange = {.session = &session};
    exchange.compute = compute_create(&session.options, session.rank);
    find_neighbours(&exchange);
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "Receives, sends and a wait with all neighbours, after a computation; mean over "
                  "the ranks",
        .parameter = "messages",
        .first = (uint64_t)exchange.count,
        .last = (uint64_t)exchange.count,
        .open = open_size,
        .batch = run_batch,
        .value = value_us,
        .close = close_size,
        .agree = agreement_mean_of_all,
        .over_ranks = values_of_ranks,
    };
    sweep(&session, &benchmark, &exchange);
    return session_finish();
}
