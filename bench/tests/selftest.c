// Tests of the parts that need no MPI. Prints 'N passed, 0 failed'.
#include "budget.h"
#include "check.h"
#include "options.h"
#include "parse.h"
#include "statistics.h"

#include "../programs/stress_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void expect_at(int line, const char *text, bool holds)
{
    if (holds) {
        passed++;
    } else {
        failed++;
        printf("line %d: does not hold: %s\n", line, text);
    }
}

#define EXPECT(condition) expect_at(__LINE__, #condition, (condition))

static bool near(double a, double b)
{
    double difference = a > b ? a - b : b - a;
    return difference < 1e-9;
}

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
        | OPTION_BIT(OPTION_SOCKET_BUFFER) | OPTION_BIT(OPTION_MSS) | OPTION_BIT(OPTION_ADDRESS),
    .default_sizes = "1:8",
};

enum { MAX_WORDS = 16 };

// Parses a line of words separated by blanks.
static enum options_outcome parse_line(const char *line, struct options *options, char *message)
{
    char copy[256], *words[MAX_WORDS] = {"some"};
    int count = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    message[0] = '\0';
    return options_parse(&some_program, count, words, options, message);
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
    EXPECT(parse_line("--help", &options, message) == OPTIONS_HELP);
    EXPECT(parse_line("--version", &options, message) == OPTIONS_VERSION);
}

static void test_wrong_options(void)
{
    // Each line with what the message must name.
    static const char *const wrong[][3] = {
        {"--size 4", "'--size'", "--sizes, --iterations"},
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
        {"--interval 1 --iterations 5", "--iterations", "exclude"},
        {"--interval 1 --sizes 1,2", "--sizes: 2 sizes", "one size"},
        {"--interval 20", "--duration: 10 s", "20 s"},
        {"--iterations 5 --seconds 1", "--seconds", "exclude"},
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

static void test_statistics(void)
{
    struct series series;
    if (!series_create(&series))
        abort();
    for (int i = 100; i >= 1; i--)
        series_add(&series, i);
    struct summary summary = series_summarize(&series);
    EXPECT(near(summary.min, 1) && near(summary.p50, 50) && near(summary.p90, 90));
    EXPECT(near(summary.p99, 99) && near(summary.max, 100) && near(summary.mean, 50.5));

    // Four times the capacity: kept samples are thinned out, evenly.
    series_clear(&series);
    uint64_t count = (uint64_t)SERIES_CAPACITY * 4;
    for (uint64_t i = 1; i <= count; i++)
        series_add(&series, (double)i);
    EXPECT(series.kept_count <= SERIES_CAPACITY && series.stride == 4);
    summary = series_summarize(&series);
    EXPECT(near(summary.min, 1) && near(summary.max, (double)count));
    EXPECT(summary.p50 > 0.499 * (double)count && summary.p50 < 0.501 * (double)count);
    series_clear(&series);
    EXPECT(near(series_summarize(&series).max, 0));
    series_destroy(&series);

    double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3}, one[] = {5};
    EXPECT(near(median(odd, 3), 2) && near(median(even, 4), 2.5) && near(median(one, 1), 5));
    EXPECT(near(percentile(one, 1, 0), 5) && near(percentile(one, 1, 100), 5));
}

static void test_contents(void)
{
    enum { CAPACITY = 100 };
    unsigned char bytes[CAPACITY + CHECK_GUARD];
    struct mismatch wrong;
    for (size_t size = 0; size <= CAPACITY; size++) {
        struct content content = {1, 0, 5, size}, other = {1, 0, 6, size};
        check_poison(bytes, &content);
        EXPECT(size == 0 || (!check_compare(bytes, &content, &wrong) && wrong.offset == 0));
        check_fill(bytes, &content);
        EXPECT(check_compare(bytes, &content, &wrong));
        EXPECT(size < 8 || !check_compare(bytes, &other, &wrong));
        bytes[size] ^= 1;
        EXPECT(!check_compare(bytes, &content, &wrong) && wrong.offset == size);
        bytes[size] ^= 1;
        if (size == 0)
            continue;
        bytes[size - 1] ^= 0x80;
        EXPECT(!check_compare(bytes, &content, &wrong) && wrong.offset == size - 1);
        EXPECT((wrong.got ^ wrong.expected) == 0x80);
    }
}

static void test_budget(void)
{
    // Whatever an iteration takes, the budget is used and not much exceeded.
    const double costs[] = {1e-6, 1e-3, 0.3, 5.0};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        struct budget budget = {.seconds = 1.0};
        uint64_t batch, batches = 0;
        for (; (batch = budget_next(&budget)) > 0; batches++)
            budget_add(&budget, batch, (double)batch * costs[i]);
        EXPECT(budget.spent >= 1.0 && budget.spent < 1.0 + 1.5 * costs[i] + 0.01);
        EXPECT(batches < 40);
    }
    // A hiccup in the first iteration does not end the measurement early.
    struct budget budget = {.seconds = 1.0};
    budget_add(&budget, budget_next(&budget), 0.2);
    for (uint64_t batch; (batch = budget_next(&budget)) > 0;)
        budget_add(&budget, batch, (double)batch * 1e-6);
    EXPECT(budget.iterations > 500000);
}

enum { PLAN_RANKS = 4, PLAN_MESSAGES = 10001 };

static bool is_sound(const struct planned *message, const struct planned *again, size_t max_size)
{
    return message->destination != message->source && message->destination >= 0
        && message->destination < PLAN_RANKS && message->size <= message->capacity
        && message->capacity <= max_size && message->size == again->size
        && message->tag == again->tag && message->destination == again->destination;
}

// Returns how many messages the source sends.
static uint64_t walk_plan(int source, size_t max_size)
{
    struct plan plan = plan_start(9, source, PLAN_RANKS, PLAN_MESSAGES, max_size), same = plan;
    struct planned messages[PLAN_ROUND_MESSAGES], again[PLAN_ROUND_MESSAGES];
    uint64_t total = 0;
    bool sound = true;
    for (size_t count; (count = plan_round(&plan, messages)) > 0;) {
        size_t bytes = 0;
        sound = sound && plan_round(&same, again) == count;
        for (size_t i = 0; i < count; i++) {
            sound = sound && is_sound(&messages[i], &again[i], max_size);
            sound = sound && messages[i].sequence == total++;
            bytes += messages[i].capacity;
        }
        sound = sound && (count == 1 || bytes <= PLAN_ROUND_BYTES);
    }
    EXPECT(sound);
    return total;
}

static void test_plan(void)
{
    const size_t max_sizes[] = {0, 100, (size_t)1 << 20, (size_t)64 << 20};
    for (size_t i = 0; i < sizeof max_sizes / sizeof max_sizes[0]; i++) {
        uint64_t total = 0;
        for (int source = 0; source < PLAN_RANKS; source++)
            total += walk_plan(source, max_sizes[i]);
        EXPECT(total == PLAN_MESSAGES);
    }
}

int main(void)
{
    test_counts_and_seconds();
    test_sizes();
    test_size_lists();
    test_options();
    test_wrong_options();
    test_statistics();
    test_contents();
    test_budget();
    test_plan();
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
