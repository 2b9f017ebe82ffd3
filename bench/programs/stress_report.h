// What a rank did, and what rank 0 prints of all of them.
#ifndef FISHPLATE_BENCH_STRESS_REPORT_H
#define FISHPLATE_BENCH_STRESS_REPORT_H

#include "session.h"

struct tally {
    uint64_t sent, received;
    uint64_t bytes_sent, bytes_received;
    uint64_t peak_rss_bytes;
};

// Largest resident memory of this process so far.
uint64_t peak_rss_bytes(void);

// Collective. `rounds` is 0 for a single message, whose value is in MB/s, else messages/s.
void stress_report(const struct session *session, const struct tally *tally, uint64_t rounds,
                   double seconds);

#endif
