// What tests expect, counted.
#ifndef FISHPLATE_BENCH_EXPECT_H
#define FISHPLATE_BENCH_EXPECT_H

#include <stdbool.h>

#define EXPECT(condition) expect_at(__FILE__, __LINE__, #condition, (condition))

// Prints what does not hold.
void expect_at(const char *file, int line, const char *text, bool holds);

// Equal but for rounding.
bool near(double a, double b);

// Prints 'N passed, 0 failed'. Returns the exit code.
int expect_summary(void);

#endif
