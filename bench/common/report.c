#include "report.h"

#include "buffer.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first line of what the MPI library says of itself, with single blanks.
static void library_name(char name[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length;
    MPI_Get_library_version(name, &length);
    char *end = name;
    for (const char *at = name; *at != '\0' && *at != '\n'; at++) {
        bool blank = *at == ' ' || *at == '\t' || *at == '\r';
        if (!blank)
            *end++ = *at;
        else if (end > name && end[-1] != ' ')
            *end++ = ' ';
    }
    *end = '\0';
}

void report_title(const struct session *session, const char *method)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    library_name(library);
    printf("# fishplate-bench %s %s, %d ranks%s\n", session->program->name, BENCH_VERSION,
           session->ranks, session->options.check ? ", contents checked" : "");
    printf("# %s\n# %s\n", library, method);
}

void report_header(const struct session *session, const struct benchmark *benchmark,
                   uint64_t pairs)
{
    if (session->options.json)
        return;
    report_title(session, benchmark->method);
    printf("%-*s%*s", REPORT_SIZE_WIDTH, "# Size", REPORT_VALUE_WIDTH, benchmark->column);
    if (pairs > 0)
        printf("%*s", REPORT_VALUE_WIDTH, "Per pair");
    if (session->options.repeats > 1)
        printf("%*s%*s", REPORT_VALUE_WIDTH, "Least repeat", REPORT_VALUE_WIDTH,
               "Greatest repeat");
    printf("\n");
    fflush(stdout);
}

static void print_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

void report_json_start(const struct session *session, const char *kind)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    library_name(library);
    printf("{\"schema\":\"%s\",\"program\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\","
           "\"mpi_library\":",
           REPORT_SCHEMA, session->program->name, BENCH_VERSION, kind);
    print_string(library);
    printf(",\"ranks\":%d", session->ranks);
}

void report_json_end(void)
{
    printf("}\n");
    // Whoever reads the lines wants each when it is measured.
    fflush(stdout);
}

static void print_count_or_null(const char *name, uint64_t count)
{
    if (count > 0)
        printf(",\"%s\":%" PRIu64, name, count);
    else
        printf(",\"%s\":null", name);
}

static void print_json(const struct session *session, const struct benchmark *benchmark,
                       const struct result *result, const double *sorted, double value)
{
    report_json_start(session, "result");
    printf(",\"size\":%zu,\"iterations\":%" PRIu64, result->size, result->iterations);
    print_count_or_null("window", result->window);
    print_count_or_null("pairs", result->pairs);
    printf(",\"check\":%s,\"seconds\":%.9g,\"value\":%.9g,\"unit\":\"%s\"",
           session->options.check ? "true" : "false", result->seconds, value, benchmark->unit);
    if (result->pairs > 0)
        printf(",\"per_pair\":%.9g", value / (double)result->pairs);
    else
        printf(",\"per_pair\":null");
    if (result->has_summary) {
        const struct summary *summary = &result->summary;
        printf(",\"percentiles\":{\"min\":%.9g,\"p50\":%.9g,\"p90\":%.9g,\"p99\":%.9g,"
               "\"max\":%.9g,\"mean\":%.9g}",
               summary->min, summary->p50, summary->p90, summary->p99, summary->max,
               summary->mean);
    } else {
        printf(",\"percentiles\":null");
    }
    printf(",\"repeats\":%" PRIu64 ",\"repeat_values\":[", result->repeats);
    for (uint64_t i = 0; i < result->repeats; i++)
        printf("%s%.9g", i == 0 ? "" : ",", result->repeat_values[i]);
    printf("],\"least_repeat\":%.9g,\"greatest_repeat\":%.9g", sorted[0],
           sorted[result->repeats - 1]);
    report_json_end();
}

static void print_text(const struct session *session, const struct benchmark *benchmark,
                       const struct result *result, const double *sorted, double value)
{
    int decimals = benchmark->decimals;
    if (result->window > 0 && result->window < session->options.window)
        printf("# window lowered to %" PRIu64 ": see \"memory\" in the documentation\n",
               result->window);
    printf("%-*zu%*.*f", REPORT_SIZE_WIDTH, result->size, REPORT_VALUE_WIDTH, decimals, value);
    if (result->pairs > 0)
        printf("%*.*f", REPORT_VALUE_WIDTH, decimals, value / (double)result->pairs);
    if (result->repeats > 1)
        printf("%*.*f%*.*f", REPORT_VALUE_WIDTH, decimals, sorted[0], REPORT_VALUE_WIDTH,
               decimals, sorted[result->repeats - 1]);
    printf("\n");
    fflush(stdout);
}

void report_result(const struct session *session, const struct benchmark *benchmark,
                   const struct result *result)
{
    size_t bytes = result->repeats * sizeof(double);
    double *sorted = allocate(bytes);
    memcpy(sorted, result->repeat_values, bytes);
    double value = median(sorted, result->repeats); // sorts
    if (session->options.json)
        print_json(session, benchmark, result, sorted, value);
    else
        print_text(session, benchmark, result, sorted, value);
    free(sorted);
}
