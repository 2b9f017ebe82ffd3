// Text as JSON has it.
#ifndef FISHPLATE_BENCH_JSON_TEXT_H
#define FISHPLATE_BENCH_JSON_TEXT_H

#include <stdio.h>

// In quotation marks; what is not printable ASCII is escaped, byte by byte.
void json_print_text(const char *text, FILE *out);

#endif
