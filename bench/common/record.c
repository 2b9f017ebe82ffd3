#include "record.h"

#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>

static void print_text_or_null(const char *name, const char *text)
{
    printf(",\"%s\":", name);
    if (text[0] == '\0') {
        printf("null");
        return;
    }
    json_print_text(text, stdout);
}

static void print_percentiles(const struct summary *summary)
{
    if (summary == NULL)
        printf(",\"percentiles\":null");
    else
        printf(",\"percentiles\":{\"min\":%.9g,\"p50\":%.9g,\"p90\":%.9g,\"p99\":%.9g,"
               "\"p99.9\":%.9g,\"max\":%.9g,\"mean\":%.9g}",
               summary->min, summary->p50, summary->p90, summary->p99, summary->p99_9,
               summary->max, summary->mean);
}

static void print_over_ranks(const struct spread *spread)
{
    if (spread == NULL)
        printf(",\"over_ranks\":null");
    else
        printf(",\"over_ranks\":{\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g}", spread->min,
               spread->mean, spread->max);
}

static void print_repeats(const struct record *record)
{
    printf(",\"repeat_values\":");
    for (uint64_t i = 0; i < record->repeats; i++)
        printf("%s%.9g", i == 0 ? "[" : ",", record->repeat_values[i]);
    printf(record->repeats == 0 ? "null" : "]");
}

void record_start(const struct session *session, const struct record *record)
{
    printf("{\"schema\":\"%s\",\"kind\":\"%s\",\"benchmark\":\"%s\",\"version\":\"%s\"",
           RECORD_SCHEMA, record->kind, session->program->name, BENCH_VERSION);
    print_text_or_null("mpi_library", session->mpi_library);
    print_text_or_null("transport", session->transport);
    printf(",\"ranks\":%d,\"options\":", session->ranks);
    options_print_json(session->program, &session->options, stdout);
    printf(",\"size\":%zu,\"parameters\":{", record->size);
    if (record->parameter != NULL)
        printf("\"%s\":%.9g", record->parameter, record->parameter_value);
    if (record->turn > 0)
        printf("%s\"turn\":%" PRIu64, record->parameter != NULL ? "," : "", record->turn);
    printf("},\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.9g,\"iterations\":%" PRIu64
           ",\"seconds\":%.9g,\"checked\":%s",
           record->metric, record->unit, record->value, record->iterations, record->seconds,
           record->checked ? "true" : "false");
    if (record->window > 0)
        printf(",\"window\":%" PRIu64, record->window);
    else
        printf(",\"window\":null");
    print_percentiles(record->percentiles);
    print_over_ranks(record->over_ranks);
    print_repeats(record);
}

void record_end(void)
{
    printf("}\n");
    // Whoever reads the lines wants each when it is measured.
    fflush(stdout);
}
