#include "report.h"

#include <inttypes.h>
#include <stdio.h>

void report_title(const struct session *session, const char *method)
{
    printf("# fishplate-bench %s %s", session->program->name, BENCH_VERSION);
    if (session->mpi_library[0] != '\0')
        printf(", %d rank%s", session->ranks, session->ranks == 1 ? "" : "s");
    printf("%s\n", session->options.check ? ", contents checked" : "");
    if (session->mpi_library[0] != '\0')
        printf("# %s\n", session->mpi_library);
    if (session->transport[0] != '\0')
        printf("# %s\n", session->transport);
    printf("# %s\n", method);
}

static void print_titles(const char *const *titles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%*s", REPORT_MORE_WIDTH, titles[i]);
}

// In columns only a random order has to be told: the lines of others are as they were asked for.
static void print_order(const struct options *options)
{
    printf("# order of sizes:");
    for (uint64_t i = 0; i < options->size_count; i++)
        printf(" %zu", options->sizes[i]);
    printf("\n");
}

void report_header(const struct session *session, const struct benchmark *benchmark)
{
    static const char *const over_ranks[] = {"Least rank", "Greatest rank"};
    static const char *const repeats[] = {"Least repeat", "Greatest repeat"};
    static const char *const percentiles[] = {"p50", "p90", "p99", "p99.9", "Max"};
    if (session->options.json)
        return;
    report_title(session, benchmark->method);
    if (options_given(&session->options, OPTION_SHUFFLE))
        print_order(&session->options);
    printf("%-*s", REPORT_SIZE_WIDTH, "# Size");
    if (benchmark->parameter != NULL)
        printf("%*s", REPORT_SIZE_WIDTH, benchmark->parameter);
    printf("%*s", REPORT_VALUE_WIDTH, benchmark->column);
    if (benchmark->pairs > 0)
        printf("%*s", REPORT_MORE_WIDTH, "Per pair");
    if (benchmark->over_ranks != NULL)
        print_titles(over_ranks, 2);
    if (session->options.repeats > 1)
        print_titles(repeats, 2);
    if (session->options.percentiles)
        print_titles(percentiles, 5);
    printf("\n");
    fflush(stdout);
}

static void print_json(const struct session *session, const struct benchmark *benchmark,
                       const struct result *result)
{
    struct record record = {
        .kind = "result",
        .metric = benchmark->metric,
        .unit = benchmark->unit,
        .value = result->value,
        .size = result->size,
        .iterations = result->iterations,
        .seconds = result->seconds,
        .checked = session->options.check,
        .window = result->window,
        .parameter = benchmark->parameter,
        .parameter_value = (double)result->parameter,
        .turn = result->turn,
        .percentiles = result->has_percentiles ? &result->percentiles : NULL,
        .over_ranks = benchmark->over_ranks != NULL ? &result->over_ranks : NULL,
        .repeat_values = result->repeat_values,
        .repeats = result->repeats,
    };
    record_start(session, &record);
    record_end();
}

static void print_more(const struct benchmark *benchmark, double value)
{
    printf("%*.*f", REPORT_MORE_WIDTH, benchmark->decimals, value);
}

static void print_percentiles(const struct benchmark *benchmark, const struct result *result)
{
    const struct summary *summary = &result->percentiles;
    const double values[] = {summary->p50, summary->p90, summary->p99, summary->p99_9,
                             summary->max};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (result->has_percentiles)
            print_more(benchmark, values[i]);
        else
            printf("%*s", REPORT_MORE_WIDTH, "-");
}

static void print_text(const struct session *session, const struct benchmark *benchmark,
                       const struct result *result)
{
    if (result->window > 0 && result->window < session->options.window)
        printf("# window lowered to %" PRIu64 ": see \"memory\" in the documentation\n",
               result->window);
    printf("%-*zu", REPORT_SIZE_WIDTH, result->size);
    if (benchmark->parameter != NULL)
        printf("%*" PRIu64, REPORT_SIZE_WIDTH, result->parameter);
    printf("%*.*f", REPORT_VALUE_WIDTH, benchmark->decimals, result->value);
    if (benchmark->pairs > 0)
        print_more(benchmark, result->value / (double)benchmark->pairs);
    if (benchmark->over_ranks != NULL) {
        print_more(benchmark, result->over_ranks.min);
        print_more(benchmark, result->over_ranks.max);
    }
    if (result->repeats > 1) {
        print_more(benchmark, result->least_repeat);
        print_more(benchmark, result->greatest_repeat);
    }
    if (session->options.percentiles)
        print_percentiles(benchmark, result);
    printf("\n");
    fflush(stdout);
}

void report_result(const struct session *session, const struct benchmark *benchmark,
                   const struct result *result)
{
    if (session->options.json)
        print_json(session, benchmark, result);
    else
        print_text(session, benchmark, result);
}
