// What the NAS parallel benchmarks have in common: classes of problems, numbers of ranks.
#ifndef FISHPLATE_APPS_NAS_H
#define FISHPLATE_APPS_NAS_H

#include "app.h"
#include "lcg.h"

#define NAS_TAKES (APP_TAKES | OPTION_BIT(OPTION_CLASS))

enum { NAS_CLASSES = CLASS_C + 1 };

// CLASS_S ... CLASS_C, an index into tables of NAS_CLASSES.
int nas_class(const struct app *app);

// "a power of two" unless the number of ranks is one. For `ranks_needed`.
const char *nas_power_of_two(const struct app *app);

// The same with a greatest number.
const char *nas_power_of_two_up_to(const struct app *app, int most);

// The logarithm of a power of two.
int nas_log2(int power);

#endif
