#include "nas.h"

#include <stdio.h>

int nas_class(const struct app *app)
{
    return app->session.options.problem_class;
}

const char *nas_power_of_two(const struct app *app)
{
    int ranks = app->session.ranks;
    return (ranks & (ranks - 1)) == 0 ? NULL : "a power of two";
}

const char *nas_power_of_two_up_to(const struct app *app, int most)
{
    static char text[64];
    snprintf(text, sizeof text, "a power of two, at most %d", most);
    return nas_power_of_two(app) == NULL && app->session.ranks <= most ? NULL : text;
}

int nas_log2(int power)
{
    int log = 0;
    for (; power > 1; power /= 2)
        log++;
    return log;
}
