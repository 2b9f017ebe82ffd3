#include "schedule.h"

struct schedule schedule_for(double seconds)
{
    // Twice as long: the next start finds every rank ready, if the time is about right.
    return (struct schedule){.interval = 2.0 * seconds, .tolerance = 0.05 * seconds};
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

// The factor for so many that missed: up to 2, for half of them or more.
static double growth(int missed, int count)
{
    // As if a few more had been punctual: one alone says little.
    double share = 2.0 * missed / (count + 7);
    return 1.0 + (share < 1.0 ? share : 1.0);
}

void schedule_adapt(struct schedule *schedule, const int *punctuality, int count)
{
    int late = 0, overslept = 0;
    for (int i = 0; i < count; i++) {
        late += punctuality[i] == CAME_LATE;
        overslept += punctuality[i] == OVERSLEPT;
    }
    schedule->interval *= growth(late, count);
    schedule->tolerance *= growth(overslept, count);
}
