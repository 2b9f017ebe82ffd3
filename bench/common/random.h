// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#ifndef FISHPLATE_BENCH_RANDOM_H
#define FISHPLATE_BENCH_RANDOM_H

#include <stdint.h>

#define RANDOM_GAMMA UINT64_C(0x9e3779b97f4a7c15)

struct random {
    uint64_t state;
};

// A bijection that spreads every bit of the input over the output.
static inline uint64_t random_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static inline uint64_t random_next(struct random *random)
{
    random->state += RANDOM_GAMMA;
    return random_mix(random->state);
}

// Between 0 and bound - 1. The bias of the remainder, bound / 2^64, does not matter here.
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return random_next(random) % bound;
}

// A stream of its own for every pair (seed, stream).
static inline struct random random_stream(uint64_t seed, uint64_t stream)
{
    return (struct random){random_mix(random_mix(seed + RANDOM_GAMMA) + stream)};
}

#endif
