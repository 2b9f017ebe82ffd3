#include "app.h"

#include "memory.h"
#include "outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_finding(struct app *app, struct app_finding finding)
{
    if (app->finding_count == APP_MAX_FINDINGS)
        session_abort(EXIT_USAGE, "more than %d values to verify", APP_MAX_FINDINGS);
    app->findings[app->finding_count++] = finding;
}

void app_expect(struct app *app, const char *name, double value, double expected, double tolerance)
{
    double error = fabs(value - expected) / fabs(expected);
    // Not the negation: no number fits nothing.
    bool fits = error <= tolerance;
    add_finding(app, (struct app_finding){FINDING_VALUE, name, value, expected, error, fits});
}

void app_expect_most(struct app *app, const char *name, double value, double bound)
{
    add_finding(app,
                (struct app_finding){FINDING_BOUND, name, value, bound, 0.0, value <= bound});
}

void app_expect_true(struct app *app, const char *name, bool holds)
{
    double value = holds, error = holds ? 0.0 : 1.0;
    add_finding(app, (struct app_finding){FINDING_CONDITION, name, value, 1.0, error, holds});
}

// Every rank must find what is published; the values told are those of rank 0.
static bool agree_on_findings(struct app *app)
{
    int fit[APP_MAX_FINDINGS], count = app->finding_count;
    for (int i = 0; i < count; i++)
        fit[i] = app->findings[i].fits;
    MPI_Allreduce(MPI_IN_PLACE, fit, count, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    bool all = true;
    for (int i = 0; i < count; i++) {
        app->findings[i].fits = fit[i] != 0;
        all = all && fit[i] != 0;
    }
    return all;
}

// One run, from the moment that all ranks are ready until the last is done.
static void run_once(const struct app_kernel *kernel, struct app *app, struct outcome *outcome)
{
    if (kernel->prepare != NULL)
        kernel->prepare(app);
    MPI_Barrier(MPI_COMM_WORLD);
    comm_reset();
    double start = MPI_Wtime();
    kernel->run(app);
    outcome_add(outcome, MPI_Wtime() - start, comm_totals());
    app->finding_count = 0;
    kernel->verify(app);
    outcome->verified = agree_on_findings(app) && outcome->verified;
}

int main(int argc, char **argv)
{
    const struct app_kernel *kernel = &app_kernel;
    struct app app = {0};
    session_start(&app.session, kernel->program, argc, argv);
    const char *needed = kernel->ranks_needed != NULL ? kernel->ranks_needed(&app) : NULL;
    session_require_ranks(&app.session, needed == NULL, needed);
    if (kernel->memory != NULL)
        memory_require(&app.session, kernel->memory(&app));
    char description[256] = "";
    if (kernel->describe != NULL)
        kernel->describe(&app, description, sizeof description);
    if (app.session.rank == 0)
        outcome_header(&app, description);
    if (kernel->create != NULL)
        kernel->create(&app);

    struct outcome outcome = outcome_create(app.session.options.repeats);
    // One that is wrong tells enough.
    while (outcome.repeats < app.session.options.repeats && outcome.verified)
        run_once(kernel, &app, &outcome);
    struct trouble trouble = {0};
    if (kernel->save != NULL)
        kernel->save(&app, &trouble);
    bool saved = trouble_none(&app.session, &trouble);
    if (app.session.rank == 0)
        outcome_report(&app, kernel, &outcome);
    outcome_destroy(&outcome);
    if (kernel->destroy != NULL)
        kernel->destroy(&app);
    int ended = session_finish();
    if (!outcome.verified)
        return EXIT_WRONG_DATA;
    return saved ? ended : EXIT_FILE;
}
