// Random numbers of the NAS parallel benchmarks: x' = a x mod 2^46, told as x 2^-46.
#ifndef FISHPLATE_APPS_LCG_H
#define FISHPLATE_APPS_LCG_H

#include <stdint.h>

// RNR-94-007: 5^13, and the seed that most of the benchmarks use.
#define LCG_A UINT64_C(1220703125)
#define LCG_SEED UINT64_C(314159265)

#define LCG_MASK ((UINT64_C(1) << 46) - 1)

// The product modulo 2^46: what overflows 64 bits is above these 46 anyway.
static inline uint64_t lcg_multiply(uint64_t a, uint64_t x)
{
    return (a * x) & LCG_MASK;
}

// a^n modulo 2^46.
static inline uint64_t lcg_power(uint64_t a, uint64_t n)
{
    uint64_t power = 1;
    for (; n > 0; n >>= 1, a = lcg_multiply(a, a))
        if ((n & 1) != 0)
            power = lcg_multiply(power, a);
    return power;
}

// The state n steps after x.
static inline uint64_t lcg_jump(uint64_t x, uint64_t a, uint64_t n)
{
    return lcg_multiply(lcg_power(a, n), x);
}

// One step; the number is in (0, 1).
static inline double lcg_next(uint64_t *x, uint64_t a)
{
    *x = lcg_multiply(a, *x);
    return (double)*x * 0x1p-46;
}

#endif
