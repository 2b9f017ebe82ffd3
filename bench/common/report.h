// What rank 0 prints of results: aligned columns, or JSON lines.
#ifndef FISHPLATE_BENCH_REPORT_H
#define FISHPLATE_BENCH_REPORT_H

#include "record.h"
#include "sweep.h"

// Columns of the familiar width; further ones need less.
enum { REPORT_SIZE_WIDTH = 10, REPORT_VALUE_WIDTH = 18, REPORT_MORE_WIDTH = 16 };

void report_header(const struct session *session, const struct benchmark *benchmark);
void report_result(const struct session *session, const struct benchmark *benchmark,
                   const struct result *result);

// The lines every text output starts with.
void report_title(const struct session *session, const char *method);

#endif
