// What rank 0 prints: aligned columns, or JSON lines of the schema fishplate-bench/1.
#ifndef FISHPLATE_BENCH_REPORT_H
#define FISHPLATE_BENCH_REPORT_H

#include "session.h"
#include "statistics.h"
#include "sweep.h"

#include <stdbool.h>

#define REPORT_SCHEMA "fishplate-bench/1"

// Columns of the familiar width.
enum { REPORT_SIZE_WIDTH = 10, REPORT_VALUE_WIDTH = 18 };

struct result {
    size_t size;
    uint64_t iterations; // over all repeats
    uint64_t window; // 0: none
    uint64_t pairs; // 0: none
    double seconds; // over all repeats
    uint64_t repeats;
    double *repeat_values; // in order of time
    bool has_summary;
    struct summary summary; // of single iterations
};

void report_header(const struct session *session, const struct benchmark *benchmark,
                   uint64_t pairs);
void report_result(const struct session *session, const struct benchmark *benchmark,
                   const struct result *result);

// The lines every text output starts with.
void report_title(const struct session *session, const char *method);

// Opens a JSON object with the fields all of them have; the caller adds its own, each
// with a comma before, and ends with report_json_end.
void report_json_start(const struct session *session, const char *kind);
void report_json_end(void);

#endif
