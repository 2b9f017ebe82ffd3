// Reads the command line: one grammar for all programs; each program takes a part of it.
#ifndef FISHPLATE_BENCH_COMMAND_LINE_H
#define FISHPLATE_BENCH_COMMAND_LINE_H

#include "options.h"

#include <stdio.h>

enum { OPTIONS_MESSAGE_CAPACITY = 1024 };

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

// On OPTIONS_WRONG, `message` names the option, the value and what is allowed.
enum options_outcome options_parse(const struct program *program, int argc, char **argv,
                                   struct options *options,
                                   char message[OPTIONS_MESSAGE_CAPACITY]);

void options_print_help(const struct program *program, FILE *out);

// A JSON object of the options that a program takes, as they are in force. What is not
// given and has no default is null.
void options_print_json(const struct program *program, const struct options *options, FILE *out);

bool options_given(const struct options *options, enum option_id id);

#endif
