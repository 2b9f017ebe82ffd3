// A TCP or MPTCP connection, and what client and server say to each other over it.
#ifndef FISHPLATE_BENCH_SOCKETS_CONNECTION_H
#define FISHPLATE_BENCH_SOCKETS_CONNECTION_H

#include "options.h"

enum work { WORK_LATENCY = 1, WORK_BANDWIDTH = 2 };

// What a client asks of the server before each batch.
struct command {
    enum work work;
    size_t size;
    uint64_t window; // messages before an acknowledgement; latency: not used
    uint64_t count; // iterations
    uint64_t iteration; // running number of the first
    uint64_t stream;
    uint64_t seed;
    bool check;
    size_t socket_buffer; // 0: the system's
};

// One byte from the server, before a batch and after each window.
enum answer { ANSWER_RIGHT = 'r', ANSWER_WRONG_DATA = 'w' };

// What content a message of a window has, with --check.
struct content;
struct content command_content(const struct command *command, uint64_t iteration, uint64_t slot);

// These end the program when it cannot be: the client's fault is the user's.
int connection_listen(const struct options *options);
int connection_open(const char *host, const struct options *options);

// Makes a socket that was accepted like those of the client. False: refused by the system.
bool connection_tune(int socket, size_t socket_buffer);

// Whole messages. False: the connection is over.
bool connection_send(int socket, const void *bytes, size_t size);
bool connection_receive(int socket, void *bytes, size_t size);
bool connection_send_command(int socket, const struct command *command);
bool connection_receive_command(int socket, struct command *command);

// One line for the user: protocol, segment size, buffers.
void connection_describe(int socket, const struct options *options, char *text, size_t capacity);

#endif
