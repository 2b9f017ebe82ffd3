// A line of JSON of the schema fishplate-bench/2: the same fields from every program.
#ifndef FISHPLATE_BENCH_RECORD_H
#define FISHPLATE_BENCH_RECORD_H

#include "session.h"
#include "statistics.h"

#include <stdbool.h>

#define RECORD_SCHEMA "fishplate-bench/2"

// Least, mean and greatest of the ranks' own values.
struct spread {
    double min, mean, max;
};

struct record {
    const char *kind; // "result", or another for what is not one
    const char *metric; // "latency", "bandwidth" or "message_rate"
    const char *unit; // "us", "MB/s" or "1/s"
    double value;
    size_t size;
    uint64_t iterations;
    double seconds; // measured
    bool checked;
    uint64_t window; // 0: none
    const char *parameter; // what beside the size tells lines of a run apart; NULL: nothing
    double parameter_value;
    uint64_t turn; // of a size that is measured several times, from 1; 0: it is measured once
    const struct summary *percentiles; // of single iterations, in `unit`; NULL: none
    const struct spread *over_ranks; // NULL: none
    const double *repeat_values; // in order of time
    uint64_t repeats; // 0: none
};

// Opens a line with the fields that all have; the caller may add its own, each with a
// comma before, and ends with record_end.
void record_start(const struct session *session, const struct record *record);
void record_end(void);

#endif
