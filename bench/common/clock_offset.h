// How far the clock of another process is ahead, from messages there and back.
#ifndef FISHPLATE_BENCH_CLOCK_OFFSET_H
#define FISHPLATE_BENCH_CLOCK_OFFSET_H

#include <math.h>

struct clock_offset {
    double seconds; // the other clock is ahead by so much
    double round_trip; // of the exchange that told it
};

#define CLOCK_OFFSET_UNKNOWN ((struct clock_offset){0.0, INFINITY})

// One exchange: when the message left and when the answer was here, by this clock, and when
// the message was there, by the other. That of the smallest round trip counts: it leaves the
// least room for one way to be longer than the other.
void clock_offset_add(struct clock_offset *offset, double sent, double there, double back);

#endif
