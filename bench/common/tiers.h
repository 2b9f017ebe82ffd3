// Peers whose latencies cluster: those behind one switch, those behind two, those far away.
#ifndef FISHPLATE_BENCH_TIERS_H
#define FISHPLATE_BENCH_TIERS_H

#include <stddef.h>

struct hop {
    int peer;
    double latency_us;
    int tier; // from 1, the nearest
};

// A latency this much above the next smaller one begins a tier. Ports of one switch differ
// by a few percent, a further switch or site by more.
#define TIERS_GAP 1.25

// Sorts the hops by latency and numbers their tiers. Returns how many tiers there are.
int tiers_find(struct hop *hops, size_t count);

#endif
