#include "outcome.h"

#include "agreement.h"
#include "option_specs.h"
#include "report.h"
#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outcome outcome_create(uint64_t repeats)
{
    return (struct outcome){.seconds = allocate(repeats * sizeof(double)), .verified = true};
}

void outcome_destroy(struct outcome *outcome)
{
    free(outcome->seconds);
    outcome->seconds = NULL;
}

// The mean of one value more.
static void mix(double *mean, double value, uint64_t count)
{
    *mean += (value - *mean) / (double)count;
}

static void mix_spread(struct spread *mean, struct spread spread, uint64_t count)
{
    mix(&mean->min, spread.min, count);
    mix(&mean->mean, spread.mean, count);
    mix(&mean->max, spread.max, count);
}

void outcome_add(struct outcome *outcome, double seconds, struct comm_totals totals)
{
    struct spread own = agreement_spread(seconds);
    outcome->seconds[outcome->repeats++] = own.max;
    outcome->total_seconds += own.max;
    mix_spread(&outcome->over_ranks, own, outcome->repeats);
    mix_spread(&outcome->comm_seconds, agreement_spread(totals.seconds), outcome->repeats);
    uint64_t sums[] = {totals.messages, totals.bytes, totals.collectives, totals.collective_bytes,
                       totals.file_bytes};
    MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    outcome->sums =
        (struct comm_totals){totals.seconds, sums[0], sums[1], sums[2], sums[3], sums[4]};
}

void outcome_header(const struct app *app, const char *description)
{
    if (app->session.options.json)
        return;
    report_title(&app->session, app->session.program->purpose);
    // Whoever has classes of problems tells which.
    if (option_taken(app->session.program, OPTION_CLASS)) {
        size_t length;
        const char *class =
            option_word(&option_specs[OPTION_CLASS], app->session.options.problem_class, &length);
        printf("# class %.*s: %s\n", (int)length, class, description);
    } else {
        printf("# %s\n", description);
    }
    fflush(stdout);
}

// Sorts a copy: the record has the repeats in order of time.
static double median_of(const struct outcome *outcome)
{
    size_t bytes = outcome->repeats * sizeof(double);
    double *sorted = allocate(bytes);
    memcpy(sorted, outcome->seconds, bytes);
    double middle = median(sorted, outcome->repeats);
    free(sorted);
    return middle;
}

static void print_json(const struct app *app, const struct outcome *outcome)
{
    struct record record = {
        // Nobody takes the time of a wrong result for a measurement.
        .kind = outcome->verified ? "result" : "wrong",
        .metric = "run_time",
        .unit = "s",
        .value = median_of(outcome),
        .iterations = outcome->repeats,
        .seconds = outcome->total_seconds,
        .checked = outcome->verified,
        .over_ranks = &outcome->over_ranks,
        .repeat_values = outcome->seconds,
        .repeats = outcome->repeats,
    };
    const struct spread *comm = &outcome->comm_seconds;
    const struct comm_totals *sums = &outcome->sums;
    record_start(&app->session, &record);
    printf(",\"communication_seconds\":{\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g}", comm->min,
           comm->mean, comm->max);
    printf(",\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"collectives\":%" PRIu64
           ",\"collective_bytes\":%" PRIu64 ",\"file_bytes\":%" PRIu64,
           sums->messages, sums->bytes, sums->collectives, sums->collective_bytes,
           sums->file_bytes);
    record_end();
}

static void print_finding(const struct app_finding *finding)
{
    const char *verdict = finding->fits ? "" : "  WRONG";
    printf("  %-20s ", finding->name);
    switch (finding->kind) {
    case FINDING_VALUE:
        printf("%22.14e  expected %22.14e  relative error %.1e%s\n", finding->value,
               finding->expected, finding->error, verdict);
        break;
    case FINDING_BOUND:
        printf("%22.14e  at most  %22.14e%s\n", finding->value, finding->expected, verdict);
        break;
    case FINDING_CONDITION:
        printf("%s\n", finding->fits ? "yes" : "WRONG");
        break;
    }
}

static void print_text(const struct app *app, const struct app_kernel *kernel,
                       const struct outcome *outcome)
{
    const struct comm_totals *sums = &outcome->sums;
    const struct spread *comm = &outcome->comm_seconds;
    printf("Run time             %12.4f s", median_of(outcome));
    if (outcome->repeats > 1)
        printf("  median of %" PRIu64 " runs", outcome->repeats);
    printf("\nIn MPI, mean of ranks%12.4f s  %.1f %%\n", comm->mean,
           100.0 * comm->mean / outcome->over_ranks.mean);
    printf("In MPI, greatest     %12.4f s\n", comm->max);
    printf("Messages             %12" PRIu64 "    %" PRIu64 " bytes\n", sums->messages,
           sums->bytes);
    printf("Collective calls     %12" PRIu64 "    %" PRIu64 " bytes\n", sums->collectives,
           sums->collective_bytes);
    if (sums->file_bytes > 0)
        printf("Read by MPI-IO       %12" PRIu64 " bytes\n", sums->file_bytes);
    if (kernel->tell != NULL)
        kernel->tell(app);
    printf("%s\n", outcome->verified ? "Verified" : "NOT VERIFIED");
    for (int i = 0; i < app->finding_count; i++)
        print_finding(&app->findings[i]);
    fflush(stdout);
}

void outcome_report(const struct app *app, const struct app_kernel *kernel,
                    const struct outcome *outcome)
{
    if (app->session.options.json)
        print_json(app, outcome);
    else
        print_text(app, kernel, outcome);
    if (!outcome->verified)
        fprintf(stderr, "%s: wrong results\n", app->session.program->name);
}
