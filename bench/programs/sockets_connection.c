#define _DEFAULT_SOURCE

#include "sockets_connection.h"

#include "check.h"
#include "clock.h"
#include "parse.h"
#include "session.h"

#include <errno.h>
#include <linux/mptcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

// Not those of another program; the last word is the version.
#define COMMAND_MAGIC UINT64_C(0x66706c736f636b01)

enum { COMMAND_WORDS = 10, PORT_CAPACITY = 8, BACKLOG = 256 };

// A server that is started at the same time may need a moment.
static const double patience_seconds = 5.0;

struct content command_content(const struct command *command, uint64_t iteration, uint64_t slot)
{
    return (struct content){command->seed, (int)command->stream,
                            iteration * command->window + slot, command->size};
}

static struct addrinfo *resolve(const char *host, const struct options *options, int flags)
{
    char port[PORT_CAPACITY];
    snprintf(port, sizeof port, "%u", (unsigned)options->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found;
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        session_abort(EXIT_USAGE, "'%.100s': %s", host != NULL ? host : "any address",
                      gai_strerror(error));
    return found;
}

static int new_socket(const struct addrinfo *address, const struct options *options)
{
    int made = socket(address->ai_family, SOCK_STREAM,
                      options->mptcp ? IPPROTO_MPTCP : IPPROTO_TCP);
    if (made < 0)
        session_abort(EXIT_NETWORK, "no socket: %s%s", strerror(errno),
                      options->mptcp ? "; --mptcp needs sysctl net.mptcp.enabled=1" : "");
    return made;
}

bool connection_tune(int socket, size_t socket_buffer)
{
    const int on = 1, bytes = (int)socket_buffer;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        return false;
    if (socket_buffer == 0)
        return true;
    return setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0
        && setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0;
}

int connection_listen(const struct options *options)
{
    const char *host = options->address[0] != '\0' ? options->address : NULL;
    struct addrinfo *address = resolve(host, options, AI_PASSIVE | AI_NUMERICHOST);
    int listener = new_socket(address, options);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, address->ai_addr, address->ai_addrlen) != 0
        || listen(listener, BACKLOG) != 0)
        session_abort(EXIT_NETWORK, "cannot listen on %s port %u: %s", host != NULL ? host : "any",
                      (unsigned)options->port, strerror(errno));
    freeaddrinfo(address);
    return listener;
}

// What must be set before the connection is made.
static void prepare(int socket, const struct options *options)
{
    size_t buffer = options_given(options, OPTION_SOCKET_BUFFER) ? options->socket_buffer : 0;
    if (!connection_tune(socket, buffer))
        session_abort(EXIT_NETWORK, "cannot set --socket-buffer: %s", strerror(errno));
    const int mss = (int)options->mss;
    if (options_given(options, OPTION_MSS)
        && setsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss) != 0)
        session_abort(EXIT_NETWORK, "cannot set --mss: %s%s", strerror(errno),
                      options->mptcp ? "; this kernel does not allow it with --mptcp" : "");
    if (options->address[0] == '\0')
        return;
    struct options any_port = *options;
    any_port.port = 0;
    struct addrinfo *own = resolve(options->address, &any_port, AI_NUMERICHOST);
    if (bind(socket, own->ai_addr, own->ai_addrlen) != 0)
        session_abort(EXIT_NETWORK, "cannot use --address %s: %s", options->address,
                      strerror(errno));
    freeaddrinfo(own);
}

int connection_open(const char *host, const struct options *options)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct addrinfo *address = resolve(host, options, 0);
    double start = clock_seconds();
    for (;;) {
        int socket = new_socket(address, options);
        prepare(socket, options);
        if (connect(socket, address->ai_addr, address->ai_addrlen) == 0) {
            freeaddrinfo(address);
            return socket;
        }
        int error = errno;
        close(socket);
        if (error != ECONNREFUSED || clock_seconds() - start > patience_seconds)
            session_abort(EXIT_NETWORK,
                          "cannot connect to %s port %u: %s; is `sockets serve` there?", host,
                          (unsigned)options->port, strerror(error));
        nanosleep(&pause, NULL);
    }
}

bool connection_send(int socket, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool connection_receive(int socket, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t received = recv(socket, at, size, 0);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0)
            return false;
        at += received;
        size -= (size_t)received;
    }
    return true;
}

static void store_words(const uint64_t *words, unsigned char *bytes)
{
    for (size_t i = 0; i < COMMAND_WORDS * 8; i++)
        bytes[i] = (unsigned char)(words[i / 8] >> (56 - i % 8 * 8));
}

static void load_words(const unsigned char *bytes, uint64_t *words)
{
    memset(words, 0, COMMAND_WORDS * 8);
    for (size_t i = 0; i < COMMAND_WORDS * 8; i++)
        words[i / 8] = words[i / 8] << 8 | bytes[i];
}

bool connection_send_command(int socket, const struct command *command)
{
    const uint64_t words[COMMAND_WORDS] = {
        COMMAND_MAGIC,      (uint64_t)command->work, command->size, command->window,
        command->count,     command->iteration,      command->stream, command->seed,
        command->check,     command->socket_buffer};
    unsigned char bytes[COMMAND_WORDS * 8];
    store_words(words, bytes);
    return connection_send(socket, bytes, sizeof bytes);
}

bool connection_receive_command(int socket, struct command *command)
{
    unsigned char bytes[COMMAND_WORDS * 8];
    uint64_t words[COMMAND_WORDS];
    if (!connection_receive(socket, bytes, sizeof bytes))
        return false;
    load_words(bytes, words);
    bool known = words[0] == COMMAND_MAGIC
        && (words[1] == WORK_LATENCY || words[1] == WORK_BANDWIDTH) && words[2] > 0
        && words[2] <= PARSE_MAX_SIZE && words[9] <= PARSE_MAX_SIZE;
    if (!known)
        return false;
    *command = (struct command){.work = (enum work)words[1],
                                .size = (size_t)words[2],
                                .window = words[3],
                                .count = words[4],
                                .iteration = words[5],
                                .stream = words[6],
                                .seed = words[7],
                                .check = words[8] != 0,
                                .socket_buffer = (size_t)words[9]};
    return true;
}

static int option_value(int socket, int level, int name)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, level, name, &value, &length) == 0 ? value : 0;
}

static const char *protocol_of(int socket, const struct options *options)
{
    if (!options->mptcp)
        return "TCP";
    struct mptcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, SOL_MPTCP, MPTCP_INFO, &info, &length) != 0
        || (info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK) != 0)
        return "MPTCP, fallen back to TCP";
    return "MPTCP";
}

void connection_describe(int socket, const struct options *options, char *text, size_t capacity)
{
    int used = snprintf(text, capacity, "%s", protocol_of(socket, options));
    int mss = option_value(socket, IPPROTO_TCP, TCP_MAXSEG);
    if (mss > 0)
        used += snprintf(text + used, capacity - (size_t)used, ", segments of %d bytes", mss);
    snprintf(text + used, capacity - (size_t)used, ", SO_SNDBUF %d, SO_RCVBUF %d",
             option_value(socket, SOL_SOCKET, SO_SNDBUF),
             option_value(socket, SOL_SOCKET, SO_RCVBUF));
}
