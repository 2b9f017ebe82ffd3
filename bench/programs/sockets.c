// Latency and bandwidth of TCP and MPTCP connections, below MPI.
#include "session.h"
#include "sockets_client.h"
#include "sockets_server.h"

#include <stdlib.h>
#include <string.h>

#define CONNECTION                                                                                 \
    (OPTION_BIT(OPTION_MPTCP) | OPTION_BIT(OPTION_ADDRESS) | OPTION_BIT(OPTION_PORT))
#define CLIENT                                                                                     \
    (CONNECTION | OPTIONS_SWEEP | OPTION_BIT(OPTION_SOCKET_BUFFER) | OPTION_BIT(OPTION_MSS))

static const struct program overview = {
    .name = "sockets",
    .purpose = "latency and bandwidth of TCP and MPTCP connections, without MPI",
    .usage = "sockets serve [options]\n"
             "       sockets latency HOST [options]\n"
             "       sockets bandwidth HOST [options]\n\n"
             "Each has a --help of its own.",
};

static const struct program serve = {
    .name = "sockets_serve",
    .purpose = "answers `sockets latency` and `sockets bandwidth` until it is ended",
    .usage = "sockets serve [options]",
    .takes = CONNECTION,
};

static const struct program latency = {
    .name = "sockets_latency",
    .purpose = "half of the round trip of a ping-pong with `sockets serve` on HOST, in us",
    .usage = "sockets latency HOST [options]",
    .takes = CLIENT,
    .default_sizes = "1:4M",
    .least_size = 1,
};

static const struct program bandwidth = {
    .name = "sockets_bandwidth",
    .purpose = "windows of messages to `sockets serve` on HOST, in MB/s (10^6 bytes/s)",
    .usage = "sockets bandwidth HOST [options]",
    .takes = CLIENT | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_STREAMS),
    .default_sizes = "1:4M",
    .least_size = 1,
};

// The host stands before the options, so that these are the same for all programs.
static int run_client(const struct program *program, int argc, char **argv)
{
    struct session session;
    bool has_host = argc > 2 && argv[2][0] != '-';
    int used = has_host ? 2 : 1;
    session_start(&session, program, argc - used, argv + used);
    if (!has_host)
        session_abort(EXIT_USAGE, "the server's host is missing; allowed: %s", program->usage);
    if (session.options.port == 0)
        session_abort(EXIT_USAGE, "--port: '0'; allowed for a client: from 1 to 65535");
    return program == &latency ? sockets_latency(&session, argv[2])
                               : sockets_bandwidth(&session, argv[2]);
}

int main(int argc, char **argv)
{
    struct session session;
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "latency") == 0)
        return run_client(&latency, argc, argv);
    if (strcmp(word, "bandwidth") == 0)
        return run_client(&bandwidth, argc, argv);
    if (strcmp(word, "serve") == 0) {
        session_start(&session, &serve, argc - 1, argv + 1);
        return sockets_serve(&session);
    }
    if (word[0] == '-')
        session_start(&session, &overview, argc, argv);
    fprintf(stderr, "sockets: '%.100s'; allowed: serve, latency HOST, bandwidth HOST, --help\n",
            word);
    return EXIT_USAGE;
}
