#include "command_line.h"

#include "json_text.h"
#include "option_specs.h"
#include "parse.h"
#include "random.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static uint64_t window_of(const struct program *program)
{
    return program->default_window > 0 ? program->default_window : DEFAULT_WINDOW;
}

static void set_defaults(const struct program *program, struct options *options)
{
    // The bytes travel from rank 0 to the others, so padding is defined too.
    memset(options, 0, sizeof *options);
    options->problem_class = CLASS_S;
    options->seconds = 0.5;
    options->repeats = 1;
    options->window = window_of(program);
    options->threads = 2;
    options->sync = SYNC_PSCW;
    options->start = START_BARRIER;
    options->dimensions = 1;
    options->send = SEND_BLOCKING;
    options->ways = WAYS_BOTH;
    options->side = SIDE_BOTH;
    options->compute_by = COMPUTE_BY_SPIN;
    options->streams = 1;
    options->port = 17077;
    options->duration = 10.0;
    options->messages = 100000;
    options->max_size = (size_t)1 << 20;
    options->volume = 128;
    options->surface = SURFACE_GYROID;
    options->image = (struct image_size){512, 512};
    options->frames = 8;
    options->passes = 8;
    options->make_database = 2000;
    options->make_queries = 8;
    options->file_size = (size_t)512 << 20;
    options->tiles = (struct image_size){2, 1};
    options->tile = (struct image_size){1024, 768};
    options->element = 32;
    options->connections = 1;
    options->seed = 1;
    if (program->default_sizes != NULL) {
        size_t count = 0;
        parse_size_list(program->default_sizes, options->sizes, OPTIONS_MAX_SIZES, &count);
        options->size_count = count;
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
        if (!option_taken(program, id))
            continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ",
                 option_specs[id].name);
    }
    return wrong(message, "unknown option '%.100s'; allowed: %s", argument, names);
}

// The option whose name is the part of the argument before any '=', or OPTION_COUNT.
static int find_option(const struct program *program, const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (int id = 0; id < OPTION_COUNT; id++)
        if (option_taken(program, id) && strlen(option_specs[id].name) == length
            && strncmp(option_specs[id].name, argument, length) == 0)
            return id;
    return OPTION_COUNT;
}

// An option that says something about another way of running would be ignored silently.
static enum options_outcome check_combination(const struct program *program,
                                              const struct options *options, char *message)
{
    static const struct {
        enum option_id first, second;
    } exclusive[] = {
        {OPTION_INTERVAL, OPTION_ITERATIONS}, {OPTION_INTERVAL, OPTION_SECONDS},
        {OPTION_INTERVAL, OPTION_WARMUP},     {OPTION_INTERVAL, OPTION_REPEATS},
        {OPTION_INTERVAL, OPTION_CHECK},      {OPTION_INTERVAL, OPTION_PERCENTILES},
        {OPTION_ITERATIONS, OPTION_SECONDS},  {OPTION_SINGLE, OPTION_MESSAGES},
        {OPTION_SINGLE, OPTION_MAX_SIZE},     {OPTION_SINGLE, OPTION_DURATION},
        {OPTION_MESSAGES, OPTION_DURATION},   {OPTION_BANDWIDTH, OPTION_START},
        {OPTION_DIMENSIONS, OPTION_NEIGHBOURS}, {OPTION_INTERVAL, OPTION_SHUFFLE},
    };
    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
        if (options_given(options, exclusive[i].first)
            && options_given(options, exclusive[i].second))
            return wrong(message, "%s and %s exclude each other; allowed: one of them",
                         option_specs[exclusive[i].first].name,
                         option_specs[exclusive[i].second].name);
    if (option_taken(program, OPTION_INTERVAL) && options_given(options, OPTION_DURATION)
        && !options_given(options, OPTION_INTERVAL))
        return wrong(message, "--duration: allowed only together with --interval");
    if (options_given(options, OPTION_INTERVAL) && options_given(options, OPTION_SIZES)
        && options->size_count != 1)
        return wrong(message, "--sizes: %" PRIu64 " sizes; allowed with --interval: one size",
                     options->size_count);
    if (options_given(options, OPTION_INTERVAL) && options->duration < options->interval)
        return wrong(message, "--duration: %g s; allowed: at least --interval, %g s",
                     options->duration, options->interval);
    // Programs with both measure without windows unless asked.
    if (option_taken(program, OPTION_BANDWIDTH) && options_given(options, OPTION_WINDOW)
        && !options->bandwidth)
        return wrong(message, "--window: allowed only together with --bandwidth");
    if (options_given(options, OPTION_DATABASE) != options_given(options, OPTION_QUERIES))
        return wrong(message, "--database and --queries: one is missing; allowed: both or none");
    if (options_given(options, OPTION_MAKE_QUERIES) && options_given(options, OPTION_DATABASE)
        && !options_given(options, OPTION_MAKE_DATABASE))
        return wrong(message, "--make-queries: allowed only where a database is made");
    return OPTIONS_RUN;
}

// Where files are decides how they can be reached, and that what can be done about caches.
static enum options_outcome check_files(const struct program *program, struct options *options,
                                        char *message)
{
    if (!option_taken(program, OPTION_PATH))
        return OPTIONS_RUN;
    const char *storage = getenv("FISHPLATE_STORAGE");
    if (!options_given(options, OPTION_PATH)
        && (storage == NULL || !option_set(&option_specs[OPTION_PATH], storage, options)))
        return wrong(message, "--path: missing; allowed: a folder, or nfs://HOST/FOLDER");
    bool url = strncmp(options->path, "nfs://", strlen("nfs://")) == 0;
    if (!options_given(options, OPTION_ACCESS))
        options->access = url ? ACCESS_NFS : ACCESS_POSIX;
    bool nfs = options->access == ACCESS_NFS;
    if (nfs && !url)
        return wrong(message, "--path: '%.100s'; allowed with --access nfs: nfs://HOST/FOLDER",
                     options->path);
    if (url && !nfs)
        return wrong(message, "--path: '%.100s'; allowed with --access mpiio and posix: a folder",
                     options->path);
    if (options_given(options, OPTION_CONNECTIONS) && !nfs)
        return wrong(message, "--connections: allowed only together with --access nfs");
    if (options->calls == CALLS_COLLECTIVE && options->access != ACCESS_MPIIO)
        return wrong(message, "--calls collective: allowed only together with --access mpiio");
    if (!options_given(options, OPTION_CACHE))
        return OPTIONS_RUN;
    if (nfs && options->cache != CACHE_KEEP)
        return wrong(message, "--cache: allowed with --access nfs: keep; libnfs caches nothing");
    if (options->access == ACCESS_MPIIO && options->cache == CACHE_DIRECT)
        return wrong(message, "--cache: 'direct'; allowed with --access mpiio: drop, keep");
    return OPTIONS_RUN;
}

static enum options_outcome check_sizes(const struct program *program,
                                        const struct options *options, char *message)
{
    for (uint64_t i = 0; i < options->size_count; i++) {
        size_t size = options->sizes[i];
        if (program->size_unit > 0 && size % program->size_unit != 0)
            return wrong(message, "--sizes: %zu; allowed: multiples of %zu bytes", size,
                         program->size_unit);
        if (size < program->least_size)
            return wrong(message, "--sizes: %zu; allowed: from %zu up", size,
                         program->least_size);
    }
    return OPTIONS_RUN;
}

// Fisher and Yates. The order is part of the options, so all ranks have it.
static void shuffle_sizes(struct options *options)
{
    struct random random = random_stream(options->shuffle, 0);
    for (uint64_t left = options->size_count; left > 1; left--) {
        size_t *last = &options->sizes[left - 1];
        size_t *other = &options->sizes[random_below(&random, left)];
        size_t size = *last;
        *last = *other;
        *other = size;
    }
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

        const struct option_spec *spec = &option_specs[id];
        char allowed[256];
        option_describe(spec, allowed, sizeof allowed);
        const char *equals = strchr(argument, '=');
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (spec->kind == KIND_FLAG && value != NULL)
            return wrong(message, "%s: '%.100s'; allowed: no value", spec->name, value);
        if (spec->kind != KIND_FLAG && value == NULL) {
            if (i + 1 == argc)
                return wrong(message, "%s: value missing; allowed: %s", spec->name, allowed);
            value = argv[++i];
        }
        if (!option_set(spec, value, options))
            return wrong(message, "%s: '%.100s'; allowed: %s", spec->name, value, allowed);
        options->given |= OPTION_BIT(id);
    }
    if (options->help)
        return OPTIONS_HELP;
    if (options->version)
        return OPTIONS_VERSION;
    enum options_outcome outcome = check_files(program, options, message);
    if (outcome == OPTIONS_RUN)
        outcome = check_sizes(program, options, message);
    if (outcome == OPTIONS_RUN)
        outcome = check_combination(program, options, message);
    if (options_given(options, OPTION_SHUFFLE))
        shuffle_sizes(options);
    return outcome;
}

void options_print_help(const struct program *program, FILE *out)
{
    fprintf(out, "%s: %s\n\nUsage: ", program->name, program->purpose);
    if (program->usage != NULL)
        fprintf(out, "%s", program->usage);
    else
        fprintf(out, "mpiexec -n RANKS %s [options]", program->name);
    fprintf(out, "\n\nOptions:\n");
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!option_taken(program, id))
            continue;
        const struct option_spec *spec = &option_specs[id];
        char left[32];
        snprintf(left, sizeof left, "%s %s", spec->name,
                 spec->argument != NULL ? spec->argument : "");
        fprintf(out, "  %-24s %s\n", left, spec->help);
        if (id == OPTION_SIZES)
            fprintf(out, "  %-24s (default %s)\n", "", program->default_sizes);
        if (id == OPTION_WINDOW)
            fprintf(out, "  %-24s (default %" PRIu64 ")\n", "", window_of(program));
    }
}

bool options_given(const struct options *options, enum option_id id)
{
    return (options->given & OPTION_BIT(id)) != 0;
}

// Whether another option took the place of this one.
static bool replaced(const struct options *options, int id)
{
    bool interval = options_given(options, OPTION_INTERVAL);
    if (id == OPTION_SECONDS)
        return interval || options_given(options, OPTION_ITERATIONS);
    if (id == OPTION_START)
        return options->bandwidth;
    if (id == OPTION_DIMENSIONS)
        return options_given(options, OPTION_NEIGHBOURS);
    if (id == OPTION_MESSAGES)
        return options_given(options, OPTION_DURATION);
    return id == OPTION_DURATION && !interval && !options_given(options, OPTION_DURATION);
}

static void print_value(const struct option_spec *spec, const struct options *options, FILE *out)
{
    const void *field = (const char *)options + spec->field;
    size_t length;
    switch (spec->kind) {
    case KIND_FLAG:
        fprintf(out, *(const bool *)field ? "true" : "false");
        break;
    case KIND_COUNT:
        fprintf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case KIND_SECONDS:
        fprintf(out, "%g", *(const double *)field);
        break;
    case KIND_SIZE:
        fprintf(out, "%zu", *(const size_t *)field);
        break;
    case KIND_CHOICE: {
        const char *word = option_word(spec, *(const int *)field, &length);
        fprintf(out, "\"%.*s\"", (int)length, word);
        break;
    }
    case KIND_TEXT:
    case KIND_PATH:
        json_print_text((const char *)field, out);
        break;
    case KIND_IMAGE: {
        const struct image_size *image = field;
        fprintf(out, "\"%" PRIu64 "x%" PRIu64 "\"", image->width, image->height);
        break;
    }
    case KIND_SIZES:
        break;
    }
}

void options_print_json(const struct program *program, const struct options *options, FILE *out)
{
    // These say how results are told, or are told with each result.
    const uint64_t apart = OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_CHECK)
        | OPTION_BIT(OPTION_PERCENTILES) | OPTION_BIT(OPTION_JSON) | OPTION_BIT(OPTION_HELP)
        | OPTION_BIT(OPTION_VERSION);
    const char *separator = "{";
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = &option_specs[id];
        if (!option_taken(program, id) || (apart & OPTION_BIT(id)) != 0)
            continue;
        fprintf(out, "%s\"", separator);
        separator = ",";
        for (const char *at = spec->name + 2; *at != '\0'; at++)
            fputc(*at == '-' ? '_' : *at, out);
        fprintf(out, "\":");
        if (replaced(options, id) || (spec->optional && !options_given(options, id)))
            fprintf(out, "null");
        else
            print_value(spec, options, out);
    }
    fprintf(out, separator[0] == '{' ? "{}" : "}");
}
