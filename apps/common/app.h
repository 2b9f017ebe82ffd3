// The common course of the applications: options, timed runs, verification, report.
//
// A program is a `struct app_kernel`; `main` is here.
#ifndef FISHPLATE_APPS_APP_H
#define FISHPLATE_APPS_APP_H

#include "comm.h"

#include "buffer.h" // allocate
#include "session.h"
#include "trouble.h"

#include <stdbool.h>
#include <stdint.h>

// What every application takes.
#define APP_TAKES (OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_JSON))

enum finding_kind {
    FINDING_VALUE, // near an expected value
    FINDING_BOUND, // at most the expected value
    FINDING_CONDITION, // holds: 1 of 1
};

struct app_finding {
    enum finding_kind kind;
    const char *name;
    double value, expected;
    double error; // of a value, relative to what is expected
    bool fits;
};

// BT and SP have ten of them.
enum { APP_MAX_FINDINGS = 32 };

struct app {
    struct session session; // rank, ranks, options
    struct app_finding findings[APP_MAX_FINDINGS];
    int finding_count;
};

// Every rank calls the same functions in the same order. NULL where there is nothing to do.
struct app_kernel {
    const struct program *program; // .name, .purpose, .takes = APP_TAKES and more

    // NULL when the number of ranks is right for the problem, else what is allowed: "a power
    // of two, at most 64". The same on every rank.
    const char *(*ranks_needed)(const struct app *app);

    // Bytes that this rank is about to allocate, so that too much is told, not killed.
    uint64_t (*memory)(const struct app *app);

    // One line for the header: "1400 rows, 15 iterations".
    void (*describe)(const struct app *app, char *text, size_t capacity);

    void (*create)(struct app *app); // memory, tables; once
    void (*prepare)(struct app *app); // before each run: initial data, untimed iteration
    void (*run)(struct app *app); // what is timed, and its communication counted
    void (*verify)(struct app *app); // after each run: app_expect and its like
    void (*tell)(const struct app *app); // by rank 0 behind the times, unless as JSON
    // Once, after all runs: files with the result, to which each rank may have an objection.
    void (*save)(struct app *app, struct trouble *trouble);
    void (*destroy)(struct app *app);
};

extern const struct app_kernel app_kernel;

// Holds a value against the expected one, |value - expected| <= tolerance |expected|.
void app_expect(struct app *app, const char *name, double value, double expected,
                double tolerance);

// The same for a value that has a bound.
void app_expect_most(struct app *app, const char *name, double value, double bound);

// The same for what holds or does not, on this rank; it must hold on all.
void app_expect_true(struct app *app, const char *name, bool holds);

#endif
