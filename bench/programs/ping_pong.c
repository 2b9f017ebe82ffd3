#include "ping_pong.h"

#include "agreement.h"
#include "rate.h"
#include "verify.h"

void ping_pong_open(struct ping_pong *ping_pong, const struct session *session, int peer, int tag,
                    size_t size)
{
    *ping_pong = (struct ping_pong){.session = session,
                                    .peer = peer,
                                    .first = session->rank < peer,
                                    .tag = tag,
                                    .size = size};
    buffer_create(&ping_pong->send, size, 1);
    buffer_create(&ping_pong->receive, size, 1);
}

void ping_pong_close(struct ping_pong *ping_pong)
{
    buffer_destroy(&ping_pong->send);
    buffer_destroy(&ping_pong->receive);
}

void ping_pong_ready(const struct ping_pong *ping_pong)
{
    if (ping_pong->first)
        MPI_Recv(NULL, 0, MPI_BYTE, ping_pong->peer, ping_pong->tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, ping_pong->peer, ping_pong->tag, MPI_COMM_WORLD);
}

static void send_message(const struct ping_pong *ping_pong)
{
    MPI_Send(ping_pong->send.bytes, (int)ping_pong->size, MPI_BYTE, ping_pong->peer,
             ping_pong->tag, MPI_COMM_WORLD);
}

static void receive_message(const struct ping_pong *ping_pong, MPI_Status *status)
{
    MPI_Recv(ping_pong->receive.bytes, (int)ping_pong->size, MPI_BYTE, ping_pong->peer,
             ping_pong->tag, MPI_COMM_WORLD, status);
}

double ping_pong_round(struct ping_pong *ping_pong)
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
    if (ping_pong->first) {
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

double ping_pong_batch(struct ping_pong *ping_pong, uint64_t count, struct series *samples)
{
    ping_pong_ready(ping_pong);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = ping_pong_round(ping_pong);
        seconds += round;
        if (ping_pong->first)
            series_add(samples, ping_pong_half_us(NULL, 1, round));
    }
    return ping_pong->first ? seconds : 0.0;
}

double ping_pong_half_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return microseconds_each(2 * iterations, seconds);
}

struct benchmark ping_pong_benchmark(const char *method)
{
    return (struct benchmark){
        SWEEP_LATENCY,
        .method = method,
        .value = ping_pong_half_us,
        .agree = agreement_slowest_of_all,
    };
}
