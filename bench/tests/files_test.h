// Tests of what is written to files, and where.
#ifndef FISHPLATE_BENCH_FILES_TEST_H
#define FISHPLATE_BENCH_FILES_TEST_H

void test_files(void);

#endif
