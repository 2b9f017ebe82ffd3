// A timer that interrupts whatever the process does each millisecond, with a handler and without SA_RESTART.
#ifndef FISHPLATE_TESTS_TIMER_H
#define FISHPLATE_TESTS_TIMER_H

#include "common.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

static void start_timer(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    expect(sigaction(SIGALRM, &action, NULL) == 0, "no handler can be set");
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    expect(setitimer(ITIMER_REAL, &timer, NULL) == 0, "no timer can be set");
}

static void stop_timer(void)
{
    struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    expect(ticks > 0, "nothing was interrupted");
}

#endif
