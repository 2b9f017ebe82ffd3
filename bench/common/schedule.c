#include "schedule.h"

// An interval of zero would not grow, and some clocks do not tell shorter times apart.
// A power of two of a second.
static const double least_seconds = 1.0 / (1 << 20);

// Twice as long: the next start finds every rank ready, if the time is about right. And a power of
// two: what is compared, and takes about as long, has the same interval. TCP that has idled for
// longer is slower.
static double interval_for(double seconds)
{
    double interval = least_seconds;
    while (interval < 2.0 * seconds)
        interval *= 2.0;
    return interval;
}

struct schedule schedule_for(double seconds)
{
    if (seconds < least_seconds)
        seconds = least_seconds;
    return (struct schedule){.interval = interval_for(seconds), .tolerance = 0.05 * seconds};
}

double schedule_time(const struct schedule *schedule, int start)
{
    return schedule->first + start * schedule->interval;
}

enum punctuality schedule_punctuality(const struct schedule *schedule, int start, double there,
                                      double started)
{
    double time = schedule_time(schedule, start);
    if (there > time)
        return CAME_LATE;
    return started > time + schedule->tolerance ? OVERSLEPT : PUNCTUAL;
}

int schedule_keep_punctual(double *samples, const int *punctuality, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (punctuality[i] == PUNCTUAL)
            samples[kept++] = samples[i];
    return kept;
}

// Doubles when half of many starts or more are late. A longer interval costs only time.
static double longer(double interval, int late, int count)
{
    // As if a few more had been punctual: one alone says little.
    double share = 2.0 * late / (count + 7);
    return interval * (1.0 + (share < 1.0 ? share : 1.0));
}

// A larger tolerance makes samples worse, so only as many as half say that it is needed.
static double larger(double tolerance, int overslept, int count)
{
    return 2 * overslept >= count ? 1.25 * tolerance : tolerance;
}

void schedule_adapt(struct schedule *schedule, const int *punctuality, int count)
{
    int late = 0, overslept = 0;
    for (int i = 0; i < count; i++) {
        late += punctuality[i] == CAME_LATE;
        overslept += punctuality[i] == OVERSLEPT;
    }
    schedule->interval = longer(schedule->interval, late, count);
    schedule->tolerance = larger(schedule->tolerance, overslept, count);
}
