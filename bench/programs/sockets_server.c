#define _DEFAULT_SOURCE

#include "sockets_server.h"

#include "check.h"
#include "sockets_connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// More than the streams of one client; each has a thread and a buffer.
enum { MAX_CONNECTIONS = 512 };

static atomic_int connections;

// Sends back what came; the client compares.
static bool answer_latency(int socket, const struct command *command, unsigned char *bytes)
{
    for (uint64_t i = 0; i < command->count; i++)
        if (!connection_receive(socket, bytes, command->size)
            || !connection_send(socket, bytes, command->size))
            return false;
    return true;
}

// Receives a window; false when the connection is over.
static bool receive_window(int socket, const struct command *command, uint64_t iteration,
                           unsigned char *bytes, char *answer)
{
    for (uint64_t slot = 0; slot < command->window; slot++) {
        struct content expected = command_content(command, iteration, slot);
        if (command->check)
            check_poison(bytes, &expected);
        if (!connection_receive(socket, bytes, command->size))
            return false;
        struct mismatch wrong;
        if (command->check && !check_compare(bytes, &expected, &wrong))
            *answer = ANSWER_WRONG_DATA;
    }
    return true;
}

static bool answer_bandwidth(int socket, const struct command *command, unsigned char *bytes)
{
    for (uint64_t i = 0; i < command->count; i++) {
        char answer = ANSWER_RIGHT;
        if (!receive_window(socket, command, command->iteration + i, bytes, &answer)
            || !connection_send(socket, &answer, 1))
            return false;
    }
    return true;
}

static bool answer_command(int socket, const struct command *command)
{
    // A client that asks for too much loses its connection, not everyone the server.
    unsigned char *bytes = malloc(command->size + CHECK_GUARD);
    const char ready = ANSWER_RIGHT;
    bool goes_on = bytes != NULL && connection_tune(socket, command->socket_buffer)
        && connection_send(socket, &ready, 1);
    if (goes_on)
        goes_on = command->work == WORK_LATENCY ? answer_latency(socket, command, bytes)
                                                : answer_bandwidth(socket, command, bytes);
    free(bytes);
    return goes_on;
}

static void *answer_connection(void *argument)
{
    int socket = *(int *)argument;
    free(argument);
    struct command command;
    while (connection_receive_command(socket, &command) && answer_command(socket, &command))
        continue;
    close(socket);
    atomic_fetch_sub(&connections, 1);
    return NULL;
}

// Gives a connection to a thread. False: there is no room for it.
static bool start_thread(int socket)
{
    if (atomic_fetch_add(&connections, 1) < MAX_CONNECTIONS) {
        pthread_t thread;
        int *argument = malloc(sizeof *argument);
        if (argument != NULL) {
            *argument = socket;
            if (pthread_create(&thread, NULL, answer_connection, argument) == 0) {
                pthread_detach(thread);
                return true;
            }
            free(argument);
        }
    }
    atomic_fetch_sub(&connections, 1);
    return false;
}

static void say_where(int listener)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(listener, (struct sockaddr *)&own, &length) == 0)
        getnameinfo((struct sockaddr *)&own, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    printf("# listening on %s port %s\n", host, port);
    fflush(stdout);
}

int sockets_serve(const struct session *session)
{
    int listener = connection_listen(&session->options);
    say_where(listener);
    for (;;) {
        int socket = accept(listener, NULL, NULL);
        if (socket >= 0) {
            if (!start_thread(socket))
                close(socket);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            session_abort(EXIT_NETWORK, "cannot accept connections: %s", strerror(errno));
        }
    }
}
