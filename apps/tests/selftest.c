// What needs no MPI: random numbers, the published ranks of IS, the matrix of CG, and parts of the
// other applications.
#include "cg_matrix.h"
#include "expect.h"
#include "is_problem.h"
#include "lcg.h"
#include "options.h"
#include "search_test.h"
#include "visualization_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static void test_random_numbers(void)
{
    EXPECT(lcg_power(5, 13) == LCG_A);
    uint64_t x = LCG_SEED;
    for (int i = 0; i < 1000; i++)
        lcg_next(&x, LCG_A);
    EXPECT(lcg_jump(LCG_SEED, LCG_A, 1000) == x);
    EXPECT(lcg_jump(x, LCG_A, 0) == x);
    EXPECT(lcg_jump(lcg_jump(x, LCG_A, 12345), LCG_A, 54321) == lcg_jump(x, LCG_A, 66666));
    // RNR-94-007: the period is 2^44.
    EXPECT(lcg_power(LCG_A, UINT64_C(1) << 44) == 1);
    EXPECT(lcg_power(LCG_A, UINT64_C(1) << 43) != 1);
    double number = lcg_next(&x, LCG_A);
    EXPECT(number > 0.0 && number < 1.0);
}

static void test_published_ranks(void)
{
    // RNR-94-007, table of class A, whose iterations count from 0: 104 + i, 8388264 - i.
    const struct is_test *tests = is_problems[CLASS_A].tests;
    EXPECT(is_expected_rank(&tests[0], 1) == 104);
    EXPECT(is_expected_rank(&tests[0], 10) == 113);
    EXPECT(is_expected_rank(&tests[4], 10) == 8388255);
}

// The element, 0 where there is none.
static double element(const struct cg_matrix *matrix, int row, int column)
{
    for (int k = matrix->starts[row]; k < matrix->starts[row + 1]; k++)
        if (matrix->columns[k] == column)
            return matrix->values[k];
    return 0.0;
}

static bool is_symmetric(const struct cg_matrix *matrix)
{
    for (int row = 0; row < matrix->rows; row++)
        for (int k = matrix->starts[row]; k < matrix->starts[row + 1]; k++) {
            double other = element(matrix, matrix->columns[k], row);
            if (fabs(other - matrix->values[k]) > 1e-12)
                return false;
        }
    return true;
}

// Whether the block holds what the whole has there. Returns how many elements that are, or -1.
static int compare_block(const struct cg_matrix *whole, struct range rows, struct range columns,
                         const struct cg_matrix *block)
{
    for (int row = 0; row < rows.count; row++)
        for (int k = block->starts[row]; k < block->starts[row + 1]; k++)
            if (block->values[k]
                != element(whole, rows.first + row, columns.first + block->columns[k]))
                return -1;
    return block->starts[rows.count];
}

static void test_matrix(void)
{
    enum { N = 1400, NONZEROS = 7 };
    const double shift = 10.0;
    const struct range all = {0, N}, parts[] = {{0, 600}, {600, 800}};
    struct cg_matrix whole, block;
    cg_matrix_create(&whole, N, NONZEROS, shift, all, all);
    // RNR-94-007: elements of class S.
    EXPECT(whole.starts[N] == 78148);
    EXPECT(is_symmetric(&whole));
    int elements = 0;
    for (int i = 0; i < 4; i++) {
        struct range rows = parts[i / 2], columns = parts[i % 2];
        cg_matrix_create(&block, N, NONZEROS, shift, rows, columns);
        int there = compare_block(&whole, rows, columns, &block);
        EXPECT(there >= 0);
        elements += there;
        cg_matrix_destroy(&block);
    }
    EXPECT(elements == whole.starts[N]);
    cg_matrix_destroy(&whole);
}

int main(void)
{
    test_random_numbers();
    test_published_ranks();
    test_matrix();
    test_visualization();
    test_search();
    return expect_summary();
}
