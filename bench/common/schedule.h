// Starts at agreed times, a constant interval apart, and what is done about late ones.
#ifndef FISHPLATE_BENCH_SCHEDULE_H
#define FISHPLATE_BENCH_SCHEDULE_H

// Starts that are agreed at once.
enum { SCHEDULE_STARTS = 256 };

struct schedule {
    double first; // time of the first start
    double interval; // in seconds
    double tolerance; // how long after its time an operation may start
};

// How a start went, or the worst of all ranks' starts.
enum punctuality {
    PUNCTUAL,
    OVERSLEPT, // was there in time, but another process had the processor
    CAME_LATE, // what was before took longer than the interval
};

// For operations of so many seconds.
struct schedule schedule_for(double seconds);

double schedule_time(const struct schedule *schedule, int start);

// Of a rank that was there at one time and started at another.
enum punctuality schedule_punctuality(const struct schedule *schedule, int start, double there,
                                      double started);

// Keeps of `count` samples those with punctual starts, in order. Returns how many.
int schedule_keep_punctual(double *samples, const int *punctuality, int count);

// A longer interval the more came late, and a larger tolerance when many overslept. Whatever
// it is that makes starts late, sooner or later some are punctual.
void schedule_adapt(struct schedule *schedule, const int *punctuality, int count);

#endif
