// Tests of what the sequence search is made of.
#ifndef FISHPLATE_APPS_SEARCH_TEST_H
#define FISHPLATE_APPS_SEARCH_TEST_H

void test_search(void);

#endif
