#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

static int passed, failed;

void expect_at(const char *file, int line, const char *text, bool holds)
{
    if (holds) {
        passed++;
    } else {
        failed++;
        printf("%s:%d: does not hold: %s\n", file, line, text);
    }
}

bool near(double a, double b)
{
    double difference = a > b ? a - b : b - a;
    return difference < 1e-9;
}

int expect_summary(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
