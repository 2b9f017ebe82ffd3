// Tests of what is read from the command line.
#ifndef FISHPLATE_BENCH_COMMAND_LINE_TEST_H
#define FISHPLATE_BENCH_COMMAND_LINE_TEST_H

void test_command_line(void);

#endif
