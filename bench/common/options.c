#include "options.h"

#include "parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

// Limits keep arithmetic on counts far from overflow and memory bounded.
#define MAX_COUNT UINT64_C(1000000000000)
#define MAX_WINDOW UINT64_C(16384)
#define MAX_PAIRS UINT64_C(1000000)
#define MIN_SECONDS 0.001
#define MAX_SECONDS 86400.0

enum kind { KIND_FLAG, KIND_COUNT, KIND_SECONDS, KIND_SIZE, KIND_SIZES };

struct option_spec {
    const char *name;
    enum kind kind;
    size_t field; // offset in struct options
    uint64_t min, max; // counts and sizes
    const char *argument;
    const char *help;
};

#define FIELD(name) offsetof(struct options, name)

static const struct option_spec specs[OPTION_COUNT] = {
    [OPTION_SIZES] = {"--sizes", KIND_SIZES, FIELD(sizes), 0, 0, "LIST",
                      "message sizes: 1,64,1K,4M or ranges of powers of two, 1:4M"},
    [OPTION_ITERATIONS] = {"--iterations", KIND_COUNT, FIELD(iterations), 1, MAX_COUNT, "N",
                           "iterations per size (default: as many as fit in --seconds)"},
    [OPTION_SECONDS] = {"--seconds", KIND_SECONDS, FIELD(seconds), 0, 0, "S",
                        "time per size when --iterations is not given (default 0.5)"},
    [OPTION_WARMUP] = {"--warmup", KIND_COUNT, FIELD(warmup), 0, MAX_COUNT, "N",
                       "iterations not counted, per size (default: about a tenth more)"},
    [OPTION_REPEATS] = {"--repeats", KIND_COUNT, FIELD(repeats), 1, OPTIONS_MAX_REPEATS, "N",
                        "measure each size N times; the median is the value (default 1)"},
    [OPTION_WINDOW] = {"--window", KIND_COUNT, FIELD(window), 1, MAX_WINDOW, "W",
                       "messages before an acknowledgement (default 64)"},
    [OPTION_PAIRS] = {"--pairs", KIND_COUNT, FIELD(pairs), 1, MAX_PAIRS, "N",
                      "pairs of ranks that talk (default: half of the ranks)"},
    [OPTION_INTERVAL] = {"--interval", KIND_SECONDS, FIELD(interval), 0, 0, "S",
                         "instead of a sweep, one size for --duration, a line every S seconds"},
    [OPTION_DURATION] = {"--duration", KIND_SECONDS, FIELD(duration), 0, 0, "S",
                         "length of a run with --interval (default 10)"},
    [OPTION_MESSAGES] = {"--messages", KIND_COUNT, FIELD(messages), 1, MAX_COUNT, "N",
                         "messages in all, over all ranks (default 100000)"},
    [OPTION_MAX_SIZE] = {"--max-size", KIND_SIZE, FIELD(max_size), 0, 0, "BYTES",
                         "size of the largest message (default 1M)"},
    [OPTION_SINGLE] = {"--single", KIND_SIZE, FIELD(single), 0, 0, "BYTES",
                       "instead, one message of this size from rank 0 to rank 1"},
    [OPTION_CHECK] = {"--check", KIND_FLAG, FIELD(check), 0, 0, NULL,
                      "check every byte of every message; abort on the first wrong one"},
    [OPTION_SEED] = {"--seed", KIND_COUNT, FIELD(seed), 0, UINT64_MAX, "N",
                     "seed of contents and random choices (default 1)"},
    [OPTION_JSON] = {"--json", KIND_FLAG, FIELD(json), 0, 0, NULL,
                     "JSON lines instead of columns"},
    [OPTION_HELP] = {"--help", KIND_FLAG, FIELD(help), 0, 0, NULL, "print this"},
    [OPTION_VERSION] = {"--version", KIND_FLAG, FIELD(version), 0, 0, NULL, "print the version"},
};

static bool takes(const struct program *program, int id)
{
    const uint32_t always = OPTION_BIT(OPTION_JSON) | OPTION_BIT(OPTION_SEED)
        | OPTION_BIT(OPTION_HELP) | OPTION_BIT(OPTION_VERSION);
    return ((program->takes | always) & OPTION_BIT(id)) != 0;
}

static void set_defaults(const struct program *program, struct options *options)
{
    // The bytes travel from rank 0 to the others, so padding is defined too.
    memset(options, 0, sizeof *options);
    options->seconds = 0.5;
    options->repeats = 1;
    options->window = 64;
    options->duration = 10.0;
    options->messages = 100000;
    options->max_size = (size_t)1 << 20;
    options->seed = 1;
    if (program->default_sizes != NULL) {
        size_t count = 0;
        parse_size_list(program->default_sizes, options->sizes, OPTIONS_MAX_SIZES, &count);
        options->size_count = count;
    }
}

static bool set_value(const struct option_spec *spec, const char *text, struct options *options)
{
    void *field = (char *)options + spec->field;
    switch (spec->kind) {
    case KIND_FLAG:
        *(bool *)field = true;
        return true;
    case KIND_COUNT:
        return parse_count(text, spec->min, spec->max, field);
    case KIND_SECONDS:
        return parse_seconds(text, MIN_SECONDS, MAX_SECONDS, field);
    case KIND_SIZE:
        return parse_size(text, PARSE_MAX_SIZE, field);
    case KIND_SIZES: {
        size_t count;
        if (!parse_size_list(text, field, OPTIONS_MAX_SIZES, &count))
            return false;
        options->size_count = count;
        return true;
    }
    }
    return false;
}

static void describe_allowed(const struct option_spec *spec, char *text, size_t capacity)
{
    switch (spec->kind) {
    case KIND_FLAG:
        snprintf(text, capacity, "no value");
        break;
    case KIND_COUNT:
        snprintf(text, capacity, "a whole number from %" PRIu64 " to %" PRIu64, spec->min,
                 spec->max);
        break;
    case KIND_SECONDS:
        snprintf(text, capacity, "seconds from %g to %g", MIN_SECONDS, MAX_SECONDS);
        break;
    case KIND_SIZE:
        snprintf(text, capacity, "bytes from 0 to %zu, such as 64, 4K or 1M (powers of 1024)",
                 PARSE_MAX_SIZE);
        break;
    case KIND_SIZES:
        snprintf(text, capacity,
                 "sizes and ranges separated by commas, such as 1,64,1K,4M or 1:4M; "
                 "0 to %zu bytes, ranges from 1 up, at most %d sizes",
                 PARSE_MAX_SIZE, OPTIONS_MAX_SIZES);
        break;
    }
}

static enum options_outcome wrong(char *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, OPTIONS_MESSAGE_CAPACITY, format, arguments);
    va_end(arguments);
    return OPTIONS_WRONG;
}

static enum options_outcome wrong_name(const struct program *program, const char *argument,
                                       char *message)
{
    char names[512] = "";
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!takes(program, id))
            continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ", specs[id].name);
    }
    return wrong(message, "unknown option '%.100s'; allowed: %s", argument, names);
}

// The option whose name is the part of the argument before any '=', or OPTION_COUNT.
static int find_option(const struct program *program, const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (int id = 0; id < OPTION_COUNT; id++)
        if (takes(program, id) && strlen(specs[id].name) == length
            && strncmp(specs[id].name, argument, length) == 0)
            return id;
    return OPTION_COUNT;
}

// An option that says something about another way of running would be ignored silently.
static enum options_outcome check_combination(const struct options *options, char *message)
{
    static const struct {
        enum option_id first, second;
    } exclusive[] = {
        {OPTION_INTERVAL, OPTION_ITERATIONS}, {OPTION_INTERVAL, OPTION_SECONDS},
        {OPTION_INTERVAL, OPTION_WARMUP},     {OPTION_INTERVAL, OPTION_REPEATS},
        {OPTION_INTERVAL, OPTION_CHECK},      {OPTION_ITERATIONS, OPTION_SECONDS},
        {OPTION_SINGLE, OPTION_MESSAGES},     {OPTION_SINGLE, OPTION_MAX_SIZE},
    };
    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
        if (options_given(options, exclusive[i].first)
            && options_given(options, exclusive[i].second))
            return wrong(message, "%s and %s exclude each other; allowed: one of them",
                         specs[exclusive[i].first].name, specs[exclusive[i].second].name);
    if (options_given(options, OPTION_DURATION) && !options_given(options, OPTION_INTERVAL))
        return wrong(message, "--duration: allowed only together with --interval");
    if (options_given(options, OPTION_INTERVAL) && options_given(options, OPTION_SIZES)
        && options->size_count != 1)
        return wrong(message, "--sizes: %" PRIu64 " sizes; allowed with --interval: one size",
                     options->size_count);
    if (options_given(options, OPTION_INTERVAL) && options->duration < options->interval)
        return wrong(message, "--duration: %g s; allowed: at least --interval, %g s",
                     options->duration, options->interval);
    return OPTIONS_RUN;
}

enum options_outcome options_parse(const struct program *program, int argc, char **argv,
                                   struct options *options,
                                   char message[OPTIONS_MESSAGE_CAPACITY])
{
    set_defaults(program, options);
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        int id = find_option(program, argument);
        if (id == OPTION_COUNT)
            return wrong_name(program, argument, message);

        const struct option_spec *spec = &specs[id];
        char allowed[256];
        describe_allowed(spec, allowed, sizeof allowed);
        const char *equals = strchr(argument, '=');
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (spec->kind == KIND_FLAG && value != NULL)
            return wrong(message, "%s: '%.100s'; allowed: no value", spec->name, value);
        if (spec->kind != KIND_FLAG && value == NULL) {
            if (i + 1 == argc)
                return wrong(message, "%s: value missing; allowed: %s", spec->name, allowed);
            value = argv[++i];
        }
        if (!set_value(spec, value, options))
            return wrong(message, "%s: '%.100s'; allowed: %s", spec->name, value, allowed);
        options->given |= OPTION_BIT(id);
    }
    if (options->help)
        return OPTIONS_HELP;
    if (options->version)
        return OPTIONS_VERSION;
    return check_combination(options, message);
}

void options_print_help(const struct program *program, FILE *out)
{
    fprintf(out, "%s: %s\n\nUsage: mpiexec -n RANKS %s [options]\n\nOptions:\n", program->name,
            program->purpose, program->name);
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!takes(program, id))
            continue;
        char left[32];
        snprintf(left, sizeof left, "%s %s", specs[id].name,
                 specs[id].argument != NULL ? specs[id].argument : "");
        fprintf(out, "  %-18s %s\n", left, specs[id].help);
        if (id == OPTION_SIZES)
            fprintf(out, "  %-18s (default %s)\n", "", program->default_sizes);
    }
}

bool options_given(const struct options *options, enum option_id id)
{
    return (options->given & OPTION_BIT(id)) != 0;
}
