#include "outcome.h"

#include "agreement.h"
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
    uint64_t sums[] = {totals.messages, totals.bytes, totals.collectives, totals.collective_bytes};
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    outcome->sums = (struct comm_totals){totals.seconds, sums[0], sums[1], sums[2], sums[3]};
}

static const char class_names[NAS_CLASSES] = {'S', 'W', 'A', 'B', 'C'};

void outcome_header(const struct nas *nas, const char *description)
{
    if (nas->session.options.json)
        return;
    report_title(&nas->session, nas->session.program->purpose);
    printf("# class %c: %s\n", class_names[nas->problem_class], description);
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

static void print_json(const struct nas *nas, const struct outcome *outcome)
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
    record_start(&nas->session, &record);
    printf(",\"communication_seconds\":{\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g}", comm->min,
           comm->mean, comm->max);
    printf(",\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"collectives\":%" PRIu64
           ",\"collective_bytes\":%" PRIu64,
           sums->messages, sums->bytes, sums->collectives, sums->collective_bytes);
    record_end();
}

static void print_findings(const struct nas *nas)
{
    for (int i = 0; i < nas->finding_count; i++) {
        const struct nas_finding *finding = &nas->findings[i];
        if (finding->is_condition) {
            printf("  %-20s %s\n", finding->name, finding->fits ? "yes" : "WRONG");
            continue;
        }
        printf("  %-20s %22.14e  expected %22.14e  relative error %.1e%s\n", finding->name,
               finding->value, finding->expected, finding->error, finding->fits ? "" : "  WRONG");
    }
}

static void print_text(const struct nas *nas, const struct outcome *outcome)
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
    printf("%s\n", outcome->verified ? "Verified" : "NOT VERIFIED");
    print_findings(nas);
    fflush(stdout);
}

void outcome_report(const struct nas *nas, const struct outcome *outcome)
{
    if (nas->session.options.json)
        print_json(nas, outcome);
    else
        print_text(nas, outcome);
    if (!outcome->verified)
        fprintf(stderr, "%s: wrong results\n", nas->session.program->name);
}
