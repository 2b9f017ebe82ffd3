// Tests of what exchange and overlap are made of.
#ifndef FISHPLATE_BENCH_PATTERNS_H
#define FISHPLATE_BENCH_PATTERNS_H

void test_patterns(void);

#endif
