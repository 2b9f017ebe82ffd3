#include "session.h"

enum options_outcome session_parse(struct session *session, int argc, char **argv)
{
    char message[OPTIONS_MESSAGE_CAPACITY];
    enum options_outcome outcome =
        options_parse(session->program, argc, argv, &session->options, message);
    switch (outcome) {
    case OPTIONS_HELP:
        options_print_help(session->program, stdout);
        break;
    case OPTIONS_VERSION:
        printf("%s (fishplate-bench) %s\n", session->program->name, BENCH_VERSION);
        break;
    case OPTIONS_WRONG:
        fprintf(stderr, "%s: %s\n", session->program->name, message);
        break;
    default:
        break;
    }
    return outcome;
}
