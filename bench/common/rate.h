// Amounts over time.
#ifndef FISHPLATE_BENCH_RATE_H
#define FISHPLATE_BENCH_RATE_H

#include <stddef.h>
#include <stdint.h>

// MB are 10^6 bytes.
static inline double megabytes_per_second(size_t size, uint64_t messages, double seconds)
{
    return (double)size * (double)messages / seconds / 1e6;
}

static inline double microseconds_each(uint64_t count, double seconds)
{
    return seconds / (double)count * 1e6;
}

#endif
