// Tests of what the visualization is made of.
#ifndef FISHPLATE_APPS_VISUALIZATION_TEST_H
#define FISHPLATE_APPS_VISUALIZATION_TEST_H

void test_visualization(void);

#endif
