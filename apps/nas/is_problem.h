// The problems of IS and the ranks that some of their keys have.
#ifndef FISHPLATE_APPS_IS_PROBLEM_H
#define FISHPLATE_APPS_IS_PROBLEM_H

enum { IS_ITERATIONS = 10, IS_TESTS = 5 };

struct is_test {
    int index; // of the key, before it is sorted
    int rank; // where it comes in order, but for a part that depends on the iteration
    int sign, offset; // the part: sign (iteration - offset)
};

struct is_problem {
    int log2_keys, log2_range, log2_buckets;
    struct is_test tests[IS_TESTS];
};

// By class.
extern const struct is_problem is_problems[];

int is_expected_rank(const struct is_test *test, int iteration);

#endif
