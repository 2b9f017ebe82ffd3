#define _DEFAULT_SOURCE

#include "sockets_client.h"

#include "buffer.h"
#include "check.h"
#include "clock.h"
#include "rate.h"
#include "sockets_connection.h"
#include "sweep.h"
#include "team.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct stream {
    int socket;
    struct buffer send, receive;
};

struct client {
    const struct session *session;
    struct command command; // of the batch
    uint64_t iteration; // running number
    uint64_t stream_count;
    struct stream *streams;
};

static _Noreturn void end_connection(void)
{
    session_abort(EXIT_NETWORK, "the server has closed the connection");
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct client *client = state;
    client->command.size = size;
    client->iteration = 0;
    for (uint64_t i = 0; i < client->stream_count; i++) {
        buffer_create(&client->streams[i].send, size, 1);
        buffer_create(&client->streams[i].receive, size, 1);
    }
    return client->command.work == WORK_BANDWIDTH ? client->command.window : 0;
}

static void close_size(void *state)
{
    struct client *client = state;
    for (uint64_t i = 0; i < client->stream_count; i++) {
        buffer_destroy(&client->streams[i].send);
        buffer_destroy(&client->streams[i].receive);
    }
}

static void agree(void *state, double seconds[2])
{
    // One process measures.
    (void)state;
    (void)seconds;
}

static void await_right(const struct stream *stream, uint64_t iteration)
{
    char answer;
    if (!connection_receive(stream->socket, &answer, 1))
        end_connection();
    if (answer != ANSWER_RIGHT)
        session_abort(EXIT_WRONG_DATA, "wrong data: the server says so of window %" PRIu64,
                      iteration);
}

static struct command start_command(const struct client *client, uint64_t stream)
{
    struct command command = client->command;
    command.iteration = client->iteration;
    command.stream = stream;
    if (!connection_send_command(client->streams[stream].socket, &command))
        end_connection();
    await_right(&client->streams[stream], command.iteration);
    return command;
}

static double half_us(const void *state, uint64_t iterations, double seconds)
{
    (void)state;
    return microseconds_each(2 * iterations, seconds);
}

static double run_round(const struct stream *stream, const struct command *command,
                        uint64_t iteration)
{
    struct content content = command_content(command, iteration, 0);
    if (command->check) {
        check_fill(stream->send.bytes, &content);
        check_poison(stream->receive.bytes, &content);
    }
    double start = clock_seconds();
    if (!connection_send(stream->socket, stream->send.bytes, command->size)
        || !connection_receive(stream->socket, stream->receive.bytes, command->size))
        end_connection();
    double seconds = clock_seconds() - start;
    struct mismatch wrong;
    if (command->check && !check_compare(stream->receive.bytes, &content, &wrong))
        session_abort(EXIT_WRONG_DATA,
                      "wrong data: size %zu, iteration %" PRIu64
                      ", offset %zu: got 0x%02x, expected 0x%02x",
                      command->size, iteration, wrong.offset, (unsigned)wrong.got,
                      (unsigned)wrong.expected);
    return seconds;
}

static double run_rounds(void *state, uint64_t count, struct series *samples)
{
    struct client *client = state;
    client->command.count = count;
    struct command command = start_command(client, 0);
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double round = run_round(&client->streams[0], &command, client->iteration + i);
        seconds += round;
        series_add(samples, half_us(NULL, 1, round));
    }
    client->iteration += count;
    return seconds;
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct client *client = state;
    uint64_t messages = client->command.window * iterations * client->stream_count;
    return megabytes_per_second(client->command.size, messages, seconds);
}

static void run_window(const struct stream *stream, const struct command *command,
                       uint64_t iteration)
{
    for (uint64_t slot = 0; slot < command->window; slot++) {
        struct content content = command_content(command, iteration, slot);
        if (command->check)
            check_fill(stream->send.bytes, &content);
        if (!connection_send(stream->socket, stream->send.bytes, command->size))
            end_connection();
    }
    await_right(stream, iteration);
}

static double run_stream(void *state, uint64_t member, struct team *team)
{
    struct client *client = state;
    struct stream *stream = &client->streams[member];
    struct command command = start_command(client, member);
    double seconds = 0.0;
    team_wait(team);
    for (uint64_t i = 0; i < command.count; i++) {
        double start = clock_seconds();
        run_window(stream, &command, command.iteration + i);
        double once = clock_seconds() - start;
        seconds += once;
        // A window of one stream; the samples are as if all streams were as fast.
        team_add(team, member, rate(client, 1, once));
    }
    return seconds;
}

static double run_windows(void *state, uint64_t count, struct series *samples)
{
    struct client *client = state;
    client->command.count = count;
    double slowest = team_run(client->stream_count, run_stream, client, samples).slowest;
    client->iteration += count;
    return slowest;
}

static int run(struct session *session, const char *host, struct client *client,
               const struct benchmark *benchmark)
{
    const struct options *options = &session->options;
    client->command.window = options->window;
    client->command.seed = options->seed;
    client->command.check = options->check;
    client->command.socket_buffer =
        options_given(options, OPTION_SOCKET_BUFFER) ? options->socket_buffer : 0;
    client->streams = allocate(client->stream_count * sizeof *client->streams);
    for (uint64_t i = 0; i < client->stream_count; i++)
        client->streams[i].socket = connection_open(host, options);
    connection_describe(client->streams[0].socket, options, session->transport,
                        sizeof session->transport);
    sweep(session, benchmark, client);
    for (uint64_t i = 0; i < client->stream_count; i++)
        close(client->streams[i].socket);
    free(client->streams);
    return session_finish();
}

int sockets_latency(struct session *session, const char *host)
{
    static const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "Half of the round trip of a ping-pong over one connection",
        .open = open_size,
        .batch = run_rounds,
        .value = half_us,
        .close = close_size,
        .agree = agree,
    };
    struct client client = {
        .session = session, .stream_count = 1, .command.work = WORK_LATENCY};
    return run(session, host, &client, &benchmark);
}

int sockets_bandwidth(struct session *session, const char *host)
{
    static const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = "Windows of messages over each connection, acknowledged; of all connections",
        .open = open_size,
        .batch = run_windows,
        .value = rate,
        .close = close_size,
        .agree = agree,
    };
    struct client client = {.session = session,
                            .stream_count = session->options.streams,
                            .command.work = WORK_BANDWIDTH};
    return run(session, host, &client, &benchmark);
}
