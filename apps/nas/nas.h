// The common course of the NAS parallel benchmarks: options, timed runs, verification, report.
//
// A program is a `struct nas_kernel` and `return nas_main(&kernel, argc, argv);`.
#ifndef FISHPLATE_APPS_NAS_H
#define FISHPLATE_APPS_NAS_H

#include "comm.h"
#include "lcg.h"

#include "buffer.h" // allocate
#include "session.h"

#include <stdbool.h>
#include <stdint.h>

#define NAS_TAKES                                                                                  \
    (OPTION_BIT(OPTION_CLASS) | OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_JSON))

enum { NAS_CLASSES = CLASS_C + 1 };

// A value held against the published one, or what must hold (1 of 1).
struct nas_finding {
    bool is_condition;
    const char *name;
    double value, expected;
    double error; // relative to what is expected
    bool fits;
};

// BT and SP have ten of them.
enum { NAS_MAX_FINDINGS = 32 };

struct nas {
    struct session session; // rank, ranks, options
    int problem_class; // CLASS_S ... CLASS_C, an index into tables of NAS_CLASSES
    void *state; // the kernel's own
    struct nas_finding findings[NAS_MAX_FINDINGS];
    int finding_count;
};

// Every rank calls the same functions in the same order. NULL where there is nothing to do.
struct nas_kernel {
    struct program program; // .name, .purpose, .takes = NAS_TAKES

    // NULL when the number of ranks is right for the class, else what is allowed: "a power
    // of two, at most 64". The same on every rank.
    const char *(*ranks_needed)(const struct nas *nas);

    // Bytes that this rank is about to allocate, so that too much is told, not killed.
    uint64_t (*memory)(const struct nas *nas);

    // One line for the header: "1400 rows, 15 iterations".
    void (*describe)(const struct nas *nas, char *text, size_t capacity);

    void (*create)(struct nas *nas); // memory, tables; once
    void (*prepare)(struct nas *nas); // before each run: initial data, untimed iteration
    void (*run)(struct nas *nas); // what is timed, and its communication counted
    void (*verify)(struct nas *nas); // after each run: nas_expect, nas_expect_true
    void (*destroy)(struct nas *nas);
};

int nas_main(const struct nas_kernel *kernel, int argc, char **argv);

// Holds a value against the published one, |value - expected| <= tolerance |expected|.
void nas_expect(struct nas *nas, const char *name, double value, double expected,
                double tolerance);

// The same for what holds or does not, on this rank; it must hold on all.
void nas_expect_true(struct nas *nas, const char *name, bool holds);

// "a power of two" unless the number of ranks is one. For `ranks_needed`.
const char *nas_power_of_two(const struct nas *nas);

// The same with a greatest number.
const char *nas_power_of_two_up_to(const struct nas *nas, int most);

// The logarithm of a power of two.
int nas_log2(int power);

#endif
