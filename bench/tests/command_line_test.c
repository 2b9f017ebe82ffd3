#include "command_line_test.h"

#include "command_line.h"
#include "expect.h"
#include "parse.h"

#include <stdlib.h>
#include <string.h>

static void test_counts_and_seconds(void)
{
    uint64_t count = 7;
    EXPECT(parse_count("0", 0, 10, &count) && count == 0);
    EXPECT(parse_count("18446744073709551615", 0, UINT64_MAX, &count) && count == UINT64_MAX);
    EXPECT(!parse_count("18446744073709551616", 0, UINT64_MAX, &count));
    const char *wrong[] = {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "11", "1e3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        EXPECT(!parse_count(wrong[i], 0, 10, &count));

    double seconds = 0.0;
    EXPECT(parse_seconds("0.25", 0.001, 10.0, &seconds) && near(seconds, 0.25));
    EXPECT(parse_seconds("10", 0.001, 10.0, &seconds) && near(seconds, 10.0));
    const char *bad[] = {"", ".", "-1", "inf", "nan", "1e1", "0", "10.1", "1.2.3", "1s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(!parse_seconds(bad[i], 0.001, 10.0, &seconds));
}

static void test_sizes(void)
{
    size_t size = 0;
    EXPECT(parse_size("0", PARSE_MAX_SIZE, &size) && size == 0);
    EXPECT(parse_size("3k", PARSE_MAX_SIZE, &size) && size == 3072);
    EXPECT(parse_size("4M", PARSE_MAX_SIZE, &size) && size == 4194304);
    EXPECT(parse_size("4MiB", PARSE_MAX_SIZE, &size) && size == 4194304);
    EXPECT(parse_size("1G", PARSE_MAX_SIZE, &size) && size == 1073741824);
    EXPECT(parse_size("2147483647", PARSE_MAX_SIZE, &size) && size == PARSE_MAX_SIZE);
    const char *wrong[] = {"", "K", "1T", "1KB", "2G", "2147483648", "-1", "1 K",
                           "99999999999999999999", "17179869184G"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        EXPECT(!parse_size(wrong[i], PARSE_MAX_SIZE, &size));
}

static void test_size_lists(void)
{
    size_t sizes[32], count = 0;
    EXPECT(parse_size_list("1,64,1K,4M", sizes, 32, &count) && count == 4);
    EXPECT(sizes[0] == 1 && sizes[1] == 64 && sizes[2] == 1024 && sizes[3] == 4194304);
    EXPECT(parse_size_list("1:4M", sizes, 32, &count) && count == 23);
    EXPECT(sizes[0] == 1 && sizes[22] == 4194304);
    EXPECT(parse_size_list("0,3:20", sizes, 32, &count) && count == 4);
    EXPECT(sizes[0] == 0 && sizes[1] == 3 && sizes[2] == 6 && sizes[3] == 12);
    EXPECT(parse_size_list("1:2147483647", sizes, 32, &count) && count == 31);
    EXPECT(parse_size_list("8:8", sizes, 32, &count) && count == 1);
    EXPECT(!parse_size_list("1:4M", sizes, 22, &count));
    const char *wrong[] = {"", ",", "1,", ",1", "1,,2", "0:8", "8:4", "1:", ":8", "1:2:3", "a"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        EXPECT(!parse_size_list(wrong[i], sizes, 32, &count));
}

static const struct program some_program = {
    .name = "some",
    .purpose = "a test",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_INTERVAL)
        | OPTION_BIT(OPTION_DURATION) | OPTION_BIT(OPTION_SYNC) | OPTION_BIT(OPTION_THREADS)
        | OPTION_BIT(OPTION_SOCKET_BUFFER) | OPTION_BIT(OPTION_MSS) | OPTION_BIT(OPTION_ADDRESS)
        | OPTION_BIT(OPTION_START),
    .default_sizes = "1:8",
};

enum { MAX_WORDS = 16 };

// Parses a line of words separated by blanks.
static enum options_outcome parse_words(const struct program *program, const char *line,
                                        struct options *options, char *message)
{
    char copy[256], *words[MAX_WORDS] = {"some"};
    int count = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    message[0] = '\0';
    return options_parse(program, count, words, options, message);
}

static enum options_outcome parse_line(const char *line, struct options *options, char *message)
{
    return parse_words(&some_program, line, options, message);
}

static void test_options(void)
{
    struct options options;
    char message[OPTIONS_MESSAGE_CAPACITY];
    EXPECT(parse_line("", &options, message) == OPTIONS_RUN);
    EXPECT(options.size_count == 4 && options.iterations == 0 && options.window == 64);
    EXPECT(options.repeats == 1 && !options.check && !options.json && options.given == 0);
    EXPECT(parse_line("--sizes 1,2 --window=8 --check --json --iterations 5", &options, message)
           == OPTIONS_RUN);
    EXPECT(options.size_count == 2 && options.window == 8 && options.iterations == 5);
    EXPECT(options.check && options.json && options_given(&options, OPTION_WINDOW));
    EXPECT(parse_line("--warmup 0", &options, message) == OPTIONS_RUN);
    EXPECT(options_given(&options, OPTION_WARMUP) && options.warmup == 0);
    EXPECT(parse_line("--interval 0.5 --duration 3 --sizes 1M", &options, message) == OPTIONS_RUN);
    EXPECT(near(options.interval, 0.5) && near(options.duration, 3.0));
    EXPECT(parse_line("", &options, message) == OPTIONS_RUN && options.sync == SYNC_PSCW);
    EXPECT(options.threads == 2 && !options.percentiles);
    EXPECT(parse_line("--sync fence --percentiles", &options, message) == OPTIONS_RUN);
    EXPECT(options.sync == SYNC_FENCE && options.percentiles);
    EXPECT(parse_line("--sync=lock --address ::1", &options, message) == OPTIONS_RUN);
    EXPECT(options.sync == SYNC_LOCK && strcmp(options.address, "::1") == 0);
    EXPECT(options.start == START_BARRIER);
    EXPECT(parse_line("--start together", &options, message) == OPTIONS_RUN);
    EXPECT(options.start == START_TOGETHER);
    EXPECT(parse_line("--help", &options, message) == OPTIONS_HELP);
    EXPECT(parse_line("--version", &options, message) == OPTIONS_VERSION);
}

static void test_orders_of_sizes(void)
{
    const size_t listed[] = {4, 1, 4, 2, 8};
    enum { LISTED = sizeof listed / sizeof listed[0] };
    struct options first, again, other;
    char message[OPTIONS_MESSAGE_CAPACITY];
    EXPECT(parse_line("--sizes 4,1,4,2,8", &first, message) == OPTIONS_RUN);
    EXPECT(first.size_count == LISTED && memcmp(first.sizes, listed, sizeof listed) == 0);
    EXPECT(parse_line("--shuffle 1 --sizes 4,1,4,2,8", &first, message) == OPTIONS_RUN);
    EXPECT(parse_line("--sizes 4,1,4,2,8 --shuffle 1", &again, message) == OPTIONS_RUN);
    EXPECT(parse_line("--sizes 4,1,4,2,8 --shuffle 2", &other, message) == OPTIONS_RUN);
    EXPECT(memcmp(first.sizes, listed, sizeof listed) != 0);
    EXPECT(memcmp(first.sizes, again.sizes, sizeof listed) == 0);
    EXPECT(memcmp(first.sizes, other.sizes, sizeof listed) != 0);
    size_t fours = 0, sum = 0;
    for (int i = 0; i < LISTED; i++) {
        fours += first.sizes[i] == 4;
        sum += first.sizes[i];
    }
    EXPECT(first.size_count == LISTED && fours == 2 && sum == 19);
}

static void test_wrong_options(void)
{
    // Each line with what the message must name.
    static const char *const wrong[][3] = {
        {"--size 4", "'--size'", "--sizes, --shuffle"},
        {"word", "'word'", "allowed"},
        {"--pairs 4", "'--pairs'", "allowed"},
        {"--window 0", "--window: '0'", "from 1 to 16384"},
        {"--window", "--window: value missing", "from 1 to 16384"},
        {"--window=", "--window: ''", "from 1 to 16384"},
        {"--sizes 1,x", "--sizes: '1,x'", "such as"},
        {"--seconds -1", "--seconds: '-1'", "from 0.001"},
        {"--check=yes", "--check: 'yes'", "no value"},
        {"--duration 5", "--duration", "--interval"},
        {"--interval 1 --check", "--check", "exclude"},
        {"--interval 1 --percentiles", "--percentiles", "exclude"},
        {"--interval 1 --iterations 5", "--iterations", "exclude"},
        {"--interval 1 --sizes 1,2", "--sizes: 2 sizes", "one size"},
        {"--interval 1 --shuffle 1", "--shuffle", "exclude"},
        {"--shuffle x", "--shuffle: 'x'", "a whole number from 0"},
        {"--interval 20", "--duration: 10 s", "20 s"},
        {"--iterations 5 --seconds 1", "--seconds", "exclude"},
        {"--sync", "--sync: value missing", "fence|pscw|lock"},
        {"--sync active", "--sync: 'active'", "fence|pscw|lock"},
        {"--sync fence|pscw", "--sync: 'fence|pscw'", "fence|pscw|lock"},
        {"--sync=", "--sync: ''", "fence|pscw|lock"},
        {"--start", "--start: value missing", "barrier|together"},
        {"--start now", "--start: 'now'", "barrier|together"},
        {"--threads 0", "--threads: '0'", "from 1 to 256"},
        {"--socket-buffer x", "--socket-buffer: 'x'", "such as"},
        {"--mss 87", "--mss: '87'", "from 88 to 32767"},
        {"--address=", "--address: ''", "1 to 63 characters"},
        {"--percentiles=99", "--percentiles: '99'", "no value"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct options options;
        char message[OPTIONS_MESSAGE_CAPACITY];
        EXPECT(parse_line(wrong[i][0], &options, message) == OPTIONS_WRONG);
        bool names = strstr(message, wrong[i][1]) != NULL && strstr(message, wrong[i][2]) != NULL;
        if (!names)
            printf("%s: %s\n", wrong[i][0], message);
        EXPECT(names);
    }
}

static const struct program pattern_program = {
    .name = "pattern",
    .purpose = "a test",
    .takes = OPTION_BIT(OPTION_DIMENSIONS) | OPTION_BIT(OPTION_NEIGHBOURS)
        | OPTION_BIT(OPTION_SEND) | OPTION_BIT(OPTION_WAYS) | OPTION_BIT(OPTION_SIDE)
        | OPTION_BIT(OPTION_COMPUTE) | OPTION_BIT(OPTION_IMBALANCE)
        | OPTION_BIT(OPTION_COMPUTE_BY),
};

static void test_options_of_patterns(void)
{
    struct options options;
    char message[OPTIONS_MESSAGE_CAPACITY];
    EXPECT(parse_words(&pattern_program, "", &options, message) == OPTIONS_RUN);
    EXPECT(options.dimensions == 1 && options.neighbours == 0 && options.send == SEND_BLOCKING);
    EXPECT(options.ways == WAYS_BOTH && options.side == SIDE_BOTH && options.compute == 0);
    EXPECT(options.imbalance == 0 && options.compute_by == COMPUTE_BY_SPIN);
    EXPECT(parse_words(&pattern_program, "--neighbours 6 --send nonblocking --ways one --compute 0",
                       &options, message)
           == OPTIONS_RUN);
    EXPECT(options.neighbours == 6 && options.send == SEND_NONBLOCKING && options.ways == WAYS_ONE);
    EXPECT(options_given(&options, OPTION_COMPUTE) && !options_given(&options, OPTION_SIDE));
    EXPECT(parse_words(&pattern_program, "--dimensions 3 --side receiver --compute-by=sleep",
                       &options, message)
           == OPTIONS_RUN);
    EXPECT(options.dimensions == 3 && options.side == SIDE_RECEIVER);
    EXPECT(options.compute_by == COMPUTE_BY_SLEEP);
}

// One line of a program other than some_program: what its message must name.
static void expect_wrong(const struct program *program, char *option, char *value,
                         const char *first, const char *second)
{
    struct options options;
    char message[OPTIONS_MESSAGE_CAPACITY] = "", *words[] = {"other", option, value};
    EXPECT(options_parse(program, 3, words, &options, message) == OPTIONS_WRONG);
    bool names = strstr(message, first) != NULL && strstr(message, second) != NULL;
    if (!names)
        printf("%s %s: %s\n", option, value, message);
    EXPECT(names);
}

static const struct program app_program = {
    .name = "app",
    .purpose = "a test",
    .takes = OPTION_BIT(OPTION_VOLUME) | OPTION_BIT(OPTION_SURFACE) | OPTION_BIT(OPTION_IMAGE)
        | OPTION_BIT(OPTION_DATABASE) | OPTION_BIT(OPTION_QUERIES) | OPTION_BIT(OPTION_FRAGMENTS)
        | OPTION_BIT(OPTION_MAKE_DATABASE) | OPTION_BIT(OPTION_MAKE_QUERIES)
        | OPTION_BIT(OPTION_OUTPUT),
};

static void test_options_of_applications(void)
{
    struct options options;
    char message[OPTIONS_MESSAGE_CAPACITY];
    EXPECT(parse_words(&app_program, "--image 640x480 --surface sphere --output a/b.png", &options,
                       message)
           == OPTIONS_RUN);
    EXPECT(options.image.width == 640 && options.image.height == 480);
    EXPECT(options.surface == SURFACE_SPHERE && strcmp(options.output, "a/b.png") == 0);
    expect_wrong(&app_program, "--image", "640", "--image: '640'", "WIDTHxHEIGHT");
    expect_wrong(&app_program, "--image", "7x9", "--image: '7x9'", "from 8 to 16384");
    expect_wrong(&app_program, "--image", "8x8x8", "--image: '8x8x8'", "WIDTHxHEIGHT");
    expect_wrong(&app_program, "--size", "1", "--size: '1'", "from 2 to 4096");
    expect_wrong(&app_program, "--surface", "cube", "--surface: 'cube'", "gyroid|sphere");
    expect_wrong(&app_program, "--output", "", "--output: ''", "at most 1023 bytes");
    expect_wrong(&app_program, "--make-queries", "9", "--make-queries: '9'", "from 1 to 8");
    expect_wrong(&app_program, "--fragments", "0", "--fragments: '0'", "from 1 to 1000000");
    expect_wrong(&app_program, "--make-database", "0", "--make-database: '0'", "from 1 to");
    expect_wrong(&app_program, "--database", "a", "--database and --queries", "both or none");
    expect_wrong(&app_program, "--queries", "a", "--database and --queries", "both or none");
}

static void test_limits_of_programs(void)
{
    const struct program words = {
        .name = "words", .takes = OPTIONS_SWEEP, .default_sizes = "4:8", .size_unit = 4};
    const struct program bytes = {
        .name = "bytes", .takes = OPTIONS_SWEEP, .default_sizes = "1:8", .least_size = 1};
    const struct program windows = {
        .name = "windows",
        .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_BANDWIDTH)
            | OPTION_BIT(OPTION_START),
        .default_sizes = "1:8"};
    expect_wrong(&words, "--sizes", "4,6", "--sizes: 6", "multiples of 4 bytes");
    expect_wrong(&bytes, "--sizes", "8,0", "--sizes: 0", "from 1 up");
    expect_wrong(&windows, "--window", "8", "--window", "together with --bandwidth");
    expect_wrong(&bytes, "--start", "together", "'--start'", "allowed: --sizes");
    expect_wrong(&windows, "--start=together", "--bandwidth", "--start", "exclude");
    expect_wrong(&pattern_program, "--dimensions", "4", "--dimensions: '4'", "from 1 to 3");
    expect_wrong(&pattern_program, "--neighbours", "7", "--neighbours: '7'", "from 1 to 6");
    expect_wrong(&pattern_program, "--dimensions=2", "--neighbours=2", "--neighbours", "exclude");
    expect_wrong(&pattern_program, "--send", "later", "--send: 'later'", "blocking|nonblocking");
    expect_wrong(&pattern_program, "--ways", "two", "--ways: 'two'", "both|one");
    expect_wrong(&pattern_program, "--side", "left", "--side: 'left'", "both|sender|receiver");
    expect_wrong(&pattern_program, "--compute", "1.5", "--compute: '1.5'", "from 0 to 60000000");
    expect_wrong(&pattern_program, "--imbalance", "-1", "--imbalance: '-1'", "from 0 to 60000000");
    expect_wrong(&pattern_program, "--compute-by", "nap", "--compute-by: 'nap'", "spin|sleep");
    expect_wrong(&bytes, "--compute", "8", "'--compute'", "allowed: --sizes");
}

// What options_print_json prints.
static bool options_are(const struct program *program, const char *line, const char *expected)
{
    struct options options;
    char message[OPTIONS_MESSAGE_CAPACITY], text[1024] = "";
    FILE *file = tmpfile();
    if (file == NULL || parse_words(program, line, &options, message) != OPTIONS_RUN)
        abort();
    options_print_json(program, &options, file);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    bool same = strcmp(text, expected) == 0;
    if (!same)
        printf("%s\n", text);
    return same;
}

static void test_options_as_json(void)
{
    EXPECT(options_are(&some_program, "--sync lock --socket-buffer 64K",
                       "{\"shuffle\":null,\"iterations\":null,\"seconds\":0.5,\"warmup\":null,\"repeats\":1,"
                       "\"window\":64,\"threads\":2,\"sync\":\"lock\",\"start\":\"barrier\","
                       "\"socket_buffer\":65536,\"mss\":null,\"address\":null,\"interval\":null,\"duration\":null,"
                       "\"seed\":1}"));
    EXPECT(options_are(&some_program, "--interval 0.5 --address 10.0.0.1 --start together",
                       "{\"shuffle\":null,\"iterations\":null,\"seconds\":null,\"warmup\":null,\"repeats\":1,"
                       "\"window\":64,\"threads\":2,\"sync\":\"pscw\",\"start\":\"together\","
                       "\"socket_buffer\":null,\"mss\":null,\"address\":\"10.0.0.1\",\"interval\":0.5,\"duration\":10,"
                       "\"seed\":1}"));
    EXPECT(options_are(&pattern_program, "--imbalance 7",
                       "{\"dimensions\":1,\"neighbours\":null,\"send\":\"blocking\","
                       "\"ways\":\"both\",\"side\":\"both\",\"compute\":null,"
                       "\"imbalance\":7,\"compute_by\":\"spin\"}"));
    EXPECT(options_are(&pattern_program, "--neighbours 3 --compute 5",
                       "{\"dimensions\":null,\"neighbours\":3,\"send\":\"blocking\","
                       "\"ways\":\"both\",\"side\":\"both\",\"compute\":5,"
                       "\"imbalance\":0,\"compute_by\":\"spin\"}"));
    EXPECT(options_are(&app_program, "--image 8x9 --output \"\\",
                       "{\"size\":128,\"surface\":\"gyroid\",\"image\":\"8x9\",\"database\":null,"
                       "\"queries\":null,\"make_database\":2000,\"make_queries\":8,\"fragments\":null,"
                       "\"output\":\"\\\"\\\\\"}"));
}

void test_command_line(void)
{
    test_counts_and_seconds();
    test_sizes();
    test_size_lists();
    test_options();
    test_orders_of_sizes();
    test_wrong_options();
    test_options_of_patterns();
    test_options_of_applications();
    test_limits_of_programs();
    test_options_as_json();
}
