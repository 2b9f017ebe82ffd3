#include "startup_report.h"

#include "report.h"

#include <stdio.h>

static void start_line(const struct session *session, const struct startup *startup,
                       bool is_result)
{
    double mean = startup->whole_us.mean;
    struct summary once = {mean, mean, mean, mean, mean, mean, mean};
    struct record record = {
        .kind = is_result ? "result" : "startup",
        .metric = "latency",
        .unit = "us",
        .value = mean,
        .size = startup->size,
        .iterations = 1,
        .seconds = mean * 1e-6,
        .checked = true,
        .percentiles = is_result ? &once : NULL,
        .over_ranks = is_result ? &startup->whole_us : NULL,
        .repeat_values = &mean,
        .repeats = is_result ? 1 : 0,
    };
    record_start(session, &record);
}

static void print_field(const char *name, const struct spread *spread)
{
    printf(",\"%s\":{\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g}", name, spread->min, spread->mean,
           spread->max);
}

static void print_json(const struct session *session, const struct startup *startup)
{
    start_line(session, startup, true);
    record_end();
    start_line(session, startup, false);
    print_field("init_us", &startup->init_us);
    print_field("memory_bytes", &startup->memory_bytes);
    print_field("files", &startup->files);
    record_end();
}

static void print_text(const struct session *session, const struct startup *startup)
{
    report_title(session, "From before MPI_Init to the end of a first MPI_Alltoall, mean over the ranks");
    printf("%-*s%*s%*s%*s\n", REPORT_SIZE_WIDTH, "# Size", REPORT_VALUE_WIDTH, "Latency (us)",
           REPORT_MORE_WIDTH, "Least rank", REPORT_MORE_WIDTH, "Greatest rank");
    printf("%-*zu%*.2f%*.2f%*.2f\n", REPORT_SIZE_WIDTH, startup->size, REPORT_VALUE_WIDTH,
           startup->whole_us.mean, REPORT_MORE_WIDTH, startup->whole_us.min, REPORT_MORE_WIDTH,
           startup->whole_us.max);
    printf("# MPI_Init and the broadcast of options: %.2f us (%.2f to %.2f)\n", startup->init_us.mean, startup->init_us.min,
           startup->init_us.max);
    printf("# private memory of a rank: %.1f MB (%.1f to %.1f)\n", startup->memory_bytes.mean / 1e6,
           startup->memory_bytes.min / 1e6, startup->memory_bytes.max / 1e6);
    printf("# open files of a rank: %.0f (%.0f to %.0f)\n", startup->files.mean, startup->files.min,
           startup->files.max);
    fflush(stdout);
}

void startup_report(const struct session *session, const struct startup *startup)
{
    if (session->options.json)
        print_json(session, startup);
    else
        print_text(session, startup);
}
