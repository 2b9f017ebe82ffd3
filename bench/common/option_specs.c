#include "option_specs.h"

#include "parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Limits keep arithmetic on counts far from overflow and memory bounded.
#define MAX_COUNT UINT64_C(1000000000000)
#define MAX_WINDOW UINT64_C(16384)
#define MAX_PAIRS UINT64_C(1000000)
#define MAX_THREADS UINT64_C(256)
#define MAX_DIMENSIONS UINT64_C(3)
#define MAX_NEIGHBOURS UINT64_C(6)
#define MAX_COMPUTE UINT64_C(60000000)
#define MAX_PORT UINT64_C(65535)
#define MIN_VOLUME UINT64_C(2)
#define MAX_VOLUME UINT64_C(4096)
#define MIN_IMAGE UINT64_C(8)
#define MAX_IMAGE UINT64_C(16384)
#define MAX_FRAMES UINT64_C(100000)
#define MAX_PASSES UINT64_C(1000)
#define MAX_PROTEINS UINT64_C(100000000)
#define MAX_QUERIES UINT64_C(8)
#define MAX_FRAGMENTS UINT64_C(1000000)
#define MAX_FILE ((size_t)1 << 50)
#define MAX_TILES UINT64_C(1024)
#define MAX_ELEMENT UINT64_C(4096)
#define MIN_SECONDS 0.001
#define MAX_SECONDS 86400.0

// What Linux takes for TCP_MAXSEG.
#define MIN_MSS UINT64_C(88)
#define MAX_MSS UINT64_C(32767)

#define FIELD(name) offsetof(struct options, name)

const struct option_spec option_specs[OPTION_COUNT] = {
    [OPTION_CLASS] = {"--class", KIND_CHOICE, FIELD(problem_class), 0, 0, "S|W|A|B|C",
                      "size of the problem (default S)", false},
    [OPTION_SIZES] = {"--sizes", KIND_SIZES, FIELD(sizes), 0, 0, "LIST",
                      "message sizes: 1,64,1K,4M or ranges of powers of two, 1:4M", false},
    [OPTION_SHUFFLE] = {"--shuffle", KIND_COUNT, FIELD(shuffle), 0, UINT64_MAX, "SEED",
                        "measure the sizes in a random order (default: as listed)", true},
    [OPTION_ITERATIONS] = {"--iterations", KIND_COUNT, FIELD(iterations), 1, MAX_COUNT, "N",
                           "iterations per size (default: as many as fit in --seconds)", true},
    [OPTION_SECONDS] = {"--seconds", KIND_SECONDS, FIELD(seconds), 0, 0, "S",
                        "time per size when --iterations is not given (default 0.5)", false},
    [OPTION_WARMUP] = {"--warmup", KIND_COUNT, FIELD(warmup), 0, MAX_COUNT, "N",
                       "iterations not counted, per size (default: about a tenth more)", true},
    [OPTION_REPEATS] = {"--repeats", KIND_COUNT, FIELD(repeats), 1, OPTIONS_MAX_REPEATS, "N",
                        "measure everything N times; the median is the value (default 1)", false},
    [OPTION_WINDOW] = {"--window", KIND_COUNT, FIELD(window), 1, MAX_WINDOW, "W",
                       "messages before an acknowledgement", false},
    [OPTION_BANDWIDTH] = {"--bandwidth", KIND_FLAG, FIELD(bandwidth), 0, 0, NULL,
                          "windows of broadcasts, acknowledged by every rank, in MB/s", false},
    [OPTION_PAIRS] = {"--pairs", KIND_COUNT, FIELD(pairs), 1, MAX_PAIRS, "N",
                      "pairs of ranks that talk (default: half of the ranks)", true},
    [OPTION_CROSSWISE] = {"--crosswise", KIND_FLAG, FIELD(crosswise), 0, 0, NULL,
                          "every second pair sends from the second half of the ranks to the first", false},
    [OPTION_THREADS] = {"--threads", KIND_COUNT, FIELD(threads), 1, MAX_THREADS, "N",
                        "threads of each rank that talk at once (default 2)", false},
    [OPTION_SYNC] = {"--sync", KIND_CHOICE, FIELD(sync), 0, 0, "fence|pscw|lock",
                     "how operations are completed (default pscw)", false},
    [OPTION_START] = {"--start", KIND_CHOICE, FIELD(start), 0, 0, "barrier|together",
                      "start after a barrier, or at an agreed time (default barrier)", false},
    [OPTION_DIMENSIONS] = {"--dimensions", KIND_COUNT, FIELD(dimensions), 1, MAX_DIMENSIONS, "D",
                           "of the grid of ranks; two neighbours in each (default 1)", false},
    [OPTION_NEIGHBOURS] = {"--neighbours", KIND_COUNT, FIELD(neighbours), 1, MAX_NEIGHBOURS, "N",
                           "instead of a grid: N messages between pairs of ranks", true},
    [OPTION_SEND] = {"--send", KIND_CHOICE, FIELD(send), 0, 0, "blocking|nonblocking",
                     "MPI_Send or MPI_Isend (default blocking)", false},
    [OPTION_WAYS] = {"--ways", KIND_CHOICE, FIELD(ways), 0, 0, "both|one",
                     "both ways at once, or from rank 0 to rank 1 (default both)", false},
    [OPTION_SIDE] = {"--side", KIND_CHOICE, FIELD(side), 0, 0, "both|sender|receiver",
                     "who computes; the sender is rank 0 (default both)", false},
    [OPTION_COMPUTE] = {"--compute", KIND_COUNT, FIELD(compute), 0, MAX_COMPUTE, "US",
                        "microseconds of computation (default: see the documentation)", true},
    [OPTION_IMBALANCE] = {"--imbalance", KIND_COUNT, FIELD(imbalance), 0, MAX_COMPUTE, "US",
                          "up to so much more, random for each rank and iteration (default 0)",
                          false},
    [OPTION_COMPUTE_BY] = {"--compute-by", KIND_CHOICE, FIELD(compute_by), 0, 0, "spin|sleep",
                           "keep the processor busy, or leave it to others (default spin)", false},
    [OPTION_STREAMS] = {"--streams", KIND_COUNT, FIELD(streams), 1, MAX_THREADS, "N",
                        "connections that send at once, a thread each (default 1)", false},
    [OPTION_SOCKET_BUFFER] = {"--socket-buffer", KIND_SIZE, FIELD(socket_buffer), 0, 0, "BYTES",
                              "SO_SNDBUF and SO_RCVBUF on both sides (default: the system's)",
                              true},
    [OPTION_MSS] = {"--mss", KIND_COUNT, FIELD(mss), MIN_MSS, MAX_MSS, "BYTES",
                    "largest TCP segment, TCP_MAXSEG (default: from the MTU)", true},
    [OPTION_MPTCP] = {"--mptcp", KIND_FLAG, FIELD(mptcp), 0, 0, NULL, "multipath TCP", false},
    [OPTION_ADDRESS] = {"--address", KIND_TEXT, FIELD(address), 0, 0, "ADDRESS",
                        "this side's address (default: any)", true},
    [OPTION_PORT] = {"--port", KIND_COUNT, FIELD(port), 0, MAX_PORT, "N",
                     "the server's port; 0 lets the server choose one (default 17077)", false},
    [OPTION_INTERVAL] = {"--interval", KIND_SECONDS, FIELD(interval), 0, 0, "S",
                         "instead of a sweep, one size for --duration, a line every S seconds",
                         true},
    [OPTION_DURATION] = {"--duration", KIND_SECONDS, FIELD(duration), 0, 0, "S",
                         "length of a run with --interval (default 10); stress: go on so long", false},
    [OPTION_MESSAGES] = {"--messages", KIND_COUNT, FIELD(messages), 1, MAX_COUNT, "N",
                         "messages in all, over all ranks (default 100000)", false},
    [OPTION_MAX_SIZE] = {"--max-size", KIND_SIZE, FIELD(max_size), 0, 0, "BYTES",
                         "size of the largest message (default 1M)", false},
    [OPTION_SINGLE] = {"--single", KIND_SIZE, FIELD(single), 0, 0, "BYTES",
                       "instead, one message of this size from rank 0 to rank 1", true},
    [OPTION_CHECK] = {"--check", KIND_FLAG, FIELD(check), 0, 0, NULL,
                      "check every byte of every message; abort on the first wrong one", false},
    [OPTION_VOLUME] = {"--size", KIND_COUNT, FIELD(volume), MIN_VOLUME, MAX_VOLUME, "N",
                       "cells along each side of the volume (default 128)", false},
    [OPTION_SURFACE] = {"--surface", KIND_CHOICE, FIELD(surface), 0, 0, "gyroid|sphere",
                        "what is drawn (default gyroid)", false},
    [OPTION_IMAGE] = {"--image", KIND_IMAGE, FIELD(image), MIN_IMAGE, MAX_IMAGE, "WxH",
                      "pixels of the picture (default 512x512)", false},
    [OPTION_FRAMES] = {"--frames", KIND_COUNT, FIELD(frames), 1, MAX_FRAMES, "N",
                       "pictures, from a view that moves (default 8)", false},
    [OPTION_PASSES] = {"--passes", KIND_COUNT, FIELD(passes), 1, MAX_PASSES, "N",
                       "passes from front to back for each picture (default 8)", false},
    [OPTION_DATABASE] = {"--database", KIND_PATH, FIELD(database), 0, 0, "FILE",
                         "proteins that are searched, as FASTA", true},
    [OPTION_QUERIES] = {"--queries", KIND_PATH, FIELD(queries), 0, 0, "FILE",
                        "proteins that are searched for, as FASTA", true},
    [OPTION_MAKE_DATABASE] = {"--make-database", KIND_COUNT, FIELD(make_database), 1,
                              MAX_PROTEINS, "N",
                              "make N random proteins, and queries (default 2000)", false},
    [OPTION_MAKE_QUERIES] = {"--make-queries", KIND_COUNT, FIELD(make_queries), 1, MAX_QUERIES, "N",
                             "make N queries for them (default 8)", false},
    [OPTION_FRAGMENTS] = {"--fragments", KIND_COUNT, FIELD(fragments), 1, MAX_FRAGMENTS, "N",
                          "parts of the database (default: four for each rank)", true},
    [OPTION_OUTPUT] = {"--output", KIND_PATH, FIELD(output), 0, 0, "FILE",
                       "where the result is written (default: nowhere)", true},
    [OPTION_PATH] = {"--path", KIND_PATH, FIELD(path), 0, 0, "FOLDER|nfs://HOST/FOLDER",
                     "where the files go; nothing stays (default: $FISHPLATE_STORAGE)", true},
    [OPTION_ACCESS] = {"--access", KIND_CHOICE, FIELD(access), 0, 0, "mpiio|posix|nfs",
                       "by MPI-IO, POSIX or libnfs (default posix; nfs for nfs://)", true},
    [OPTION_CACHE] = {"--cache", KIND_CHOICE, FIELD(cache), 0, 0, "direct|drop|keep",
                      "bypass or drop the page cache, or neither (default: the first that goes)",
                      true},
    [OPTION_OPERATION] = {"--operation", KIND_CHOICE, FIELD(operation), 0, 0, "both|write|read",
                          "what is measured (default both)", false},
    [OPTION_FILE_SIZE] = {"--file-size", KIND_SIZE, FIELD(file_size), 1, MAX_FILE, "BYTES",
                          "size of the file (default 512M)", false},
    [OPTION_ORDER] = {"--order", KIND_CHOICE, FIELD(order), 0, 0, "sequential|random",
                      "in which each thread takes records (default sequential)", false},
    [OPTION_TILES] = {"--tiles", KIND_IMAGE, FIELD(tiles), 1, MAX_TILES, "WxH",
                      "tiles side by side and one above the other (default 2x1)", false},
    [OPTION_TILE] = {"--tile", KIND_IMAGE, FIELD(tile), 1, MAX_IMAGE, "WxH",
                     "pixels of a tile (default 1024x768)", false},
    [OPTION_OVERLAP] = {"--overlap", KIND_IMAGE, FIELD(overlap), 0, MAX_IMAGE, "WxH",
                        "pixels that neighbours have in common (default 0x0)", false},
    [OPTION_ELEMENT] = {"--element", KIND_COUNT, FIELD(element), 1, MAX_ELEMENT, "BYTES",
                        "of a pixel (default 32)", false},
    [OPTION_CALLS] = {"--calls", KIND_CHOICE, FIELD(calls), 0, 0, "independent|collective",
                      "of MPI-IO (default independent)", false},
    [OPTION_CONNECTIONS] = {"--connections", KIND_COUNT, FIELD(connections), 1, MAX_THREADS, "N",
                            "with --access nfs: of each rank, shared by its threads (default 1)",
                            false},
    [OPTION_SEED] = {"--seed", KIND_COUNT, FIELD(seed), 0, UINT64_MAX, "N",
                     "seed of contents and random choices (default 1)", false},
    [OPTION_PERCENTILES] = {"--percentiles", KIND_FLAG, FIELD(percentiles), 0, 0, NULL,
                            "columns with percentiles of single iterations", false},
    [OPTION_JSON] = {"--json", KIND_FLAG, FIELD(json), 0, 0, NULL,
                     "JSON lines instead of columns", false},
    [OPTION_HELP] = {"--help", KIND_FLAG, FIELD(help), 0, 0, NULL, "print this", false},
    [OPTION_VERSION] = {"--version", KIND_FLAG, FIELD(version), 0, 0, NULL, "print the version",
                        false},
};

bool option_taken(const struct program *program, int id)
{
    const uint64_t always = OPTION_BIT(OPTION_HELP) | OPTION_BIT(OPTION_VERSION);
    return ((program->takes | always) & OPTION_BIT(id)) != 0;
}

const char *option_word(const struct option_spec *spec, int index, size_t *length)
{
    const char *word = spec->argument;
    for (; index > 0; index--)
        word += strcspn(word, "|") + 1;
    *length = strcspn(word, "|");
    return word;
}

// The place of a word among those of a choice, or -1.
static int find_word(const struct option_spec *spec, const char *text)
{
    const char *end = spec->argument + strlen(spec->argument);
    size_t length;
    for (int index = 0;; index++) {
        const char *word = option_word(spec, index, &length);
        if (strlen(text) == length && strncmp(word, text, length) == 0)
            return index;
        if (word + length == end)
            return -1;
    }
}

static bool set_text(char *field, size_t capacity, const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length >= capacity)
        return false;
    memcpy(field, text, length + 1);
    return true;
}

// Sizes of messages have the same limit everywhere.
static size_t most_bytes(const struct option_spec *spec)
{
    return spec->max > 0 ? (size_t)spec->max : PARSE_MAX_SIZE;
}

bool option_set(const struct option_spec *spec, const char *text, struct options *options)
{
    void *field = (char *)options + spec->field;
    size_t count;
    switch (spec->kind) {
    case KIND_FLAG:
        *(bool *)field = true;
        return true;
    case KIND_COUNT:
        return parse_count(text, spec->min, spec->max, field);
    case KIND_SECONDS:
        return parse_seconds(text, MIN_SECONDS, MAX_SECONDS, field);
    case KIND_SIZE:
        return parse_size(text, most_bytes(spec), field) && *(size_t *)field >= spec->min;
    case KIND_SIZES:
        if (!parse_size_list(text, field, OPTIONS_MAX_SIZES, &count))
            return false;
        options->size_count = count;
        return true;
    case KIND_CHOICE:
        *(int *)field = find_word(spec, text);
        return *(int *)field >= 0;
    case KIND_TEXT:
        return set_text(field, OPTIONS_TEXT_CAPACITY, text);
    case KIND_PATH:
        return set_text(field, OPTIONS_PATH_CAPACITY, text);
    case KIND_IMAGE: {
        struct image_size *image = field;
        return parse_image(text, spec->min, spec->max, &image->width, &image->height);
    }
    }
    return false;
}

void option_describe(const struct option_spec *spec, char *text, size_t capacity)
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
        snprintf(text, capacity,
                 "bytes from %" PRIu64 " to %zu, such as 64, 4K or 1M (powers of 1024)", spec->min,
                 most_bytes(spec));
        break;
    case KIND_SIZES:
        snprintf(text, capacity,
                 "sizes and ranges separated by commas, such as 1,64,1K,4M or 1:4M; "
                 "0 to %zu bytes, ranges from 1 up, at most %d sizes",
                 PARSE_MAX_SIZE, OPTIONS_MAX_SIZES);
        break;
    case KIND_CHOICE:
        snprintf(text, capacity, "%s", spec->argument);
        break;
    case KIND_IMAGE:
        snprintf(text, capacity, "WIDTHxHEIGHT, each from %" PRIu64 " to %" PRIu64, spec->min,
                 spec->max);
        break;
    case KIND_PATH:
        snprintf(text, capacity, "a name of at most %d bytes", OPTIONS_PATH_CAPACITY - 1);
        break;
    case KIND_TEXT:
        snprintf(text, capacity, "1 to %d characters", OPTIONS_TEXT_CAPACITY - 1);
        break;
    }
}
