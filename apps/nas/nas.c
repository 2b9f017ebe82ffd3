#include "nas.h"

#include "memory.h"
#include "outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_finding(struct nas *nas, struct nas_finding finding)
{
    if (nas->finding_count == NAS_MAX_FINDINGS)
        session_abort(EXIT_USAGE, "more than %d values to verify", NAS_MAX_FINDINGS);
    nas->findings[nas->finding_count++] = finding;
}

void nas_expect(struct nas *nas, const char *name, double value, double expected, double tolerance)
{
    double error = fabs(value - expected) / fabs(expected);
    // Not the negation: no number fits nothing.
    add_finding(nas, (struct nas_finding){false, name, value, expected, error, error <= tolerance});
}

void nas_expect_true(struct nas *nas, const char *name, bool holds)
{
    add_finding(nas, (struct nas_finding){true, name, holds, 1.0, holds ? 0.0 : 1.0, holds});
}

const char *nas_power_of_two(const struct nas *nas)
{
    int ranks = nas->session.ranks;
    return (ranks & (ranks - 1)) == 0 ? NULL : "a power of two";
}

const char *nas_power_of_two_up_to(const struct nas *nas, int most)
{
    static char text[64];
    snprintf(text, sizeof text, "a power of two, at most %d", most);
    return nas_power_of_two(nas) == NULL && nas->session.ranks <= most ? NULL : text;
}

int nas_log2(int power)
{
    int log = 0;
    for (; power > 1; power /= 2)
        log++;
    return log;
}

// Every rank must find what is published; the values told are those of rank 0.
static bool agree_on_findings(struct nas *nas)
{
    int fit[NAS_MAX_FINDINGS], count = nas->finding_count;
    for (int i = 0; i < count; i++)
        fit[i] = nas->findings[i].fits;
    MPI_Allreduce(MPI_IN_PLACE, fit, count, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    bool all = true;
    for (int i = 0; i < count; i++) {
        nas->findings[i].fits = fit[i] != 0;
        all = all && fit[i] != 0;
    }
    return all;
}

// One run, from the moment that all ranks are ready until the last is done.
static void run_once(const struct nas_kernel *kernel, struct nas *nas, struct outcome *outcome)
{
    if (kernel->prepare != NULL)
        kernel->prepare(nas);
    MPI_Barrier(MPI_COMM_WORLD);
    comm_reset();
    double start = MPI_Wtime();
    kernel->run(nas);
    outcome_add(outcome, MPI_Wtime() - start, comm_totals());
    nas->finding_count = 0;
    kernel->verify(nas);
    outcome->verified = agree_on_findings(nas) && outcome->verified;
}

int nas_main(const struct nas_kernel *kernel, int argc, char **argv)
{
    struct nas nas = {0};
    session_start(&nas.session, &kernel->program, argc, argv);
    nas.problem_class = nas.session.options.problem_class;
    const char *needed = kernel->ranks_needed != NULL ? kernel->ranks_needed(&nas) : NULL;
    session_require_ranks(&nas.session, needed == NULL, needed);
    if (kernel->memory != NULL)
        memory_require(&nas.session, kernel->memory(&nas));
    char description[256] = "";
    if (kernel->describe != NULL)
        kernel->describe(&nas, description, sizeof description);
    if (nas.session.rank == 0)
        outcome_header(&nas, description);
    if (kernel->create != NULL)
        kernel->create(&nas);

    struct outcome outcome = outcome_create(nas.session.options.repeats);
    // One that is wrong tells enough.
    while (outcome.repeats < nas.session.options.repeats && outcome.verified)
        run_once(kernel, &nas, &outcome);
    if (nas.session.rank == 0)
        outcome_report(&nas, &outcome);
    outcome_destroy(&outcome);
    if (kernel->destroy != NULL)
        kernel->destroy(&nas);
    int ended = session_finish();
    return outcome.verified ? ended : EXIT_WRONG_DATA;
}
