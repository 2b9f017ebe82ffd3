#include "statistics.h"

#include <stdlib.h>

int series_create(struct series *series)
{
    series->kept = malloc(SERIES_CAPACITY * sizeof *series->kept);
    series_clear(series);
    return series->kept != NULL;
}

void series_clear(struct series *series)
{
    series->count = 0;
    series->sum = 0.0;
    series->min = 0.0;
    series->max = 0.0;
    series->stride = 1;
    series->kept_count = 0;
}

void series_destroy(struct series *series)
{
    free(series->kept);
    series->kept = NULL;
}

// Drops every second kept sample, so those left are `2 * stride` apart.
static void thin_out(struct series *series)
{
    for (size_t i = 0; 2 * i < series->kept_count; i++)
        series->kept[i] = series->kept[2 * i];
    series->kept_count = (series->kept_count + 1) / 2;
    series->stride *= 2;
}

void series_add(struct series *series, double sample)
{
    if (series->count == 0 || sample < series->min)
        series->min = sample;
    if (series->count == 0 || sample > series->max)
        series->max = sample;
    series->sum += sample;
    if (series->count % series->stride == 0) {
        if (series->kept_count == SERIES_CAPACITY)
            thin_out(series);
        if (series->count % series->stride == 0)
            series->kept[series->kept_count++] = sample;
    }
    series->count++;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct summary series_summarize(struct series *series)
{
    struct summary summary = {0};
    if (series->count == 0)
        return summary;
    qsort(series->kept, series->kept_count, sizeof *series->kept, compare);
    summary.min = series->min;
    summary.p50 = percentile(series->kept, series->kept_count, 50.0);
    summary.p90 = percentile(series->kept, series->kept_count, 90.0);
    summary.p99 = percentile(series->kept, series->kept_count, 99.0);
    summary.p99_9 = percentile(series->kept, series->kept_count, 99.9);
    summary.max = series->max;
    summary.mean = series->sum / (double)series->count;
    return summary;
}

double median(double *values, size_t count)
{
    if (count == 0)
        return 0.0;
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

double percentile(const double *sorted, size_t count, double percent)
{
    double position = percent / 100.0 * (double)count;
    size_t rank = (size_t)position;
    if ((double)rank < position)
        rank++;
    if (rank == 0)
        rank = 1;
    return sorted[rank - 1];
}
