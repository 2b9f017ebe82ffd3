// Ping-pong between two ranks: half of the round trip.
#include "buffer.h"
#include "session.h"
#include "sweep.h"
#include "verify.h"

enum { TAG = 1 };

static const struct program program = {
    .name = "latency",
    .purpose = "half of the round trip of a ping-pong between two ranks, in us",
    .takes = OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_ITERATIONS) | OPTION_BIT(OPTION_SECONDS)
        | OPTION_BIT(OPTION_WARMUP) | OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_CHECK),
    .default_sizes = "1:4M",
};

struct ping_pong {
    const struct session *session;
    int peer;
    size_t size;
    uint64_t iteration; // running number, the same on both ranks
    struct buffer send, receive;
};

static uint64_t open_size(void *state, size_t size)
{
    struct ping_pong *ping_pong = state;
    ping_pong->size = size;
    ping_pong->iteration = 0;
    buffer_create(&ping_pong->send, size, 1);
    buffer_create(&ping_pong->receive, size, 1);
    return 0;
}

static void close_size(void *state)
{
    struct ping_pong *ping_pong = state;
    buffer_destroy(&ping_pong->send);
    buffer_destroy(&ping_pong->receive);
}

static void send_message(const struct ping_pong *ping_pong)
{
    MPI_Send(ping_pong->send.bytes, (int)ping_pong->size, MPI_BYTE, ping_pong->peer, TAG,
             MPI_COMM_WORLD);
}

static void receive_message(const struct ping_pong *ping_pong, MPI_Status *status)
{
    MPI_Recv(ping_pong->receive.bytes, (int)ping_pong->size, MPI_BYTE, ping_pong->peer, TAG,
             MPI_COMM_WORLD, status);
}

// Returns the seconds of the round trip as this rank sees it.
static double round_trip(struct ping_pong *ping_pong)
{
    const struct session *session = ping_pong->session;
    bool check = session->options.check;
    struct content sent = {session->options.seed, session->rank, ping_pong->iteration,
                           ping_pong->size};
    struct content expected = sent;
    expected.source = ping_pong->peer;
    if (check) {
        check_fill(ping_pong->send.bytes, &sent);
        check_poison(ping_pong->receive.bytes, &expected);
    }
    MPI_Status status;
    double start = MPI_Wtime();
    if (session->rank == 0) {
        send_message(ping_pong);
        receive_message(ping_pong, &status);
    } else {
        receive_message(ping_pong, &status);
        send_message(ping_pong);
    }
    double seconds = MPI_Wtime() - start;
    if (check)
        verify(ping_pong->receive.bytes, &expected, ping_pong->iteration, &status);
    ping_pong->iteration++;
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct ping_pong *ping_pong = state;
    int rank = ping_pong->session->rank;
    // Rank 0 must not start its clock before rank 1 waits for the first message.
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = round_trip(ping_pong);
        seconds += round;
        if (rank == 0)
            series_add(samples, round / 2.0 * 1e6);
    }
    // Rank 1's rounds start with waiting for rank 0.
    return rank == 0 ? seconds : 0.0;
}

static double half_round_trip_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return seconds / (double)iterations / 2.0 * 1e6;
}

int main(int argc, char **argv)
{
    static const struct benchmark benchmark = {
        .column = "Latency (us)",
        .unit = "us",
        .decimals = 2,
        .method = "Half of the round trip of a ping-pong",
        .open = open_size,
        .batch = run_batch,
        .value = half_round_trip_us,
        .close = close_size,
    };
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks == 2, "exactly 2 ranks");
    struct ping_pong ping_pong = {.session = &session, .peer = 1 - session.rank};
    sweep(&session, &benchmark, &ping_pong, MPI_COMM_WORLD, 0);
    return session_finish();
}
