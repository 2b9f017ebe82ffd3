#include "is_problem.h"

#include "options.h"

// RNR-94-007, for A and B; 02-007 and the reference implementation's published
// ranks for the others. Buckets tell nothing about the result.
const struct is_problem is_problems[] = {
    [CLASS_S] = {16, 11, 9,
                 {{48427, 0, 1, 0},
                  {17148, 18, 1, 0},
                  {23627, 346, 1, 0},
                  {62548, 64917, -1, 0},
                  {4431, 65463, -1, 0}}},
    [CLASS_W] = {20, 16, 10,
                 {{357773, 1249, 1, 2},
                  {934767, 11698, 1, 2},
                  {875723, 1039987, -1, 0},
                  {898999, 1043896, -1, 0},
                  {404505, 1048018, -1, 0}}},
    [CLASS_A] = {23, 19, 10,
                 {{2112377, 104, 1, 1},
                  {662041, 17523, 1, 1},
                  {5336171, 123928, 1, 1},
                  {3642833, 8288932, -1, 1},
                  {4250760, 8388264, -1, 1}}},
    [CLASS_B] = {25, 21, 10,
                 {{41869, 33422937, -1, 0},
                  {812306, 10244, 1, 0},
                  {5102857, 59149, 1, 0},
                  {18232239, 33135281, -1, 0},
                  {26860214, 99, 1, 0}}},
    [CLASS_C] = {27, 23, 10,
                 {{44172927, 61147, 1, 0},
                  {72999161, 882988, 1, 0},
                  {74326391, 266290, 1, 0},
                  {129606274, 133997595, -1, 0},
                  {21736814, 133525895, -1, 0}}},
};

int is_expected_rank(const struct is_test *test, int iteration)
{
    return test->rank + test->sign * (iteration - test->offset);
}
