// The command line, one grammar for all programs; each program takes a part of it.
#ifndef FISHPLATE_BENCH_OPTIONS_H
#define FISHPLATE_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_VERSION "0.1.0"

// A range from 1 byte to the largest size has 31 sizes; room for a few of them.
enum { OPTIONS_MAX_SIZES = 128, OPTIONS_MAX_REPEATS = 1000, OPTIONS_MESSAGE_CAPACITY = 1024 };

enum option_id {
    OPTION_SIZES,
    OPTION_ITERATIONS,
    OPTION_SECONDS,
    OPTION_WARMUP,
    OPTION_REPEATS,
    OPTION_WINDOW,
    OPTION_PAIRS,
    OPTION_INTERVAL,
    OPTION_DURATION,
    OPTION_MESSAGES,
    OPTION_MAX_SIZE,
    OPTION_SINGLE,
    OPTION_CHECK,
    OPTION_SEED,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

#define OPTION_BIT(id) (UINT32_C(1) << (id))

struct options {
    size_t sizes[OPTIONS_MAX_SIZES];
    uint64_t size_count;
    uint64_t iterations; // 0: automatic
    double seconds;
    uint64_t warmup; // meaningful when given
    uint64_t repeats;
    uint64_t window;
    uint64_t pairs; // 0: half of the ranks
    double interval;
    double duration;
    uint64_t messages;
    size_t max_size;
    size_t single;
    bool check;
    uint64_t seed;
    bool json;
    bool help;
    bool version;
    uint32_t given; // OPTION_BITs
};

struct program {
    const char *name;
    const char *purpose;
    uint32_t takes; // OPTION_BITs; json, seed, help and version are always taken
    const char *default_sizes;
};

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

// On OPTIONS_WRONG, `message` names the option, the value and what is allowed.
enum options_outcome options_parse(const struct program *program, int argc, char **argv,
                                   struct options *options,
                                   char message[OPTIONS_MESSAGE_CAPACITY]);

void options_print_help(const struct program *program, FILE *out);

bool options_given(const struct options *options, enum option_id id);

#endif
