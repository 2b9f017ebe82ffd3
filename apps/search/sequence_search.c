// Sequence search: proteins of a database that are like those asked for, by seeds and their
// extension, after BLAST (Altschul and others, 1990 and 1997). A master gives out queries and
// fragments of the database, which workers read through MPI-IO: after mpiBLAST (Darling, Carey and
// Feng, "The Design, Implementation, and Evaluation of mpiBLAST", 2003).
#include "app.h"
#include "files.h"
#include "master.h"
#include "output.h"
#include "verification.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAGMENTS_PER_RANK = 4 };

struct search {
    struct recipe recipe; // meaningful when the files are made
    struct database database;
    struct queries queries;
    struct worker worker;
    struct hits hits; // rank 0
    struct verification verification;
    FILE *output; // rank 0; NULL: none
};

static struct search state;

static bool is_made(const struct app *app)
{
    const struct options *options = &app->session.options;
    return options_given(options, OPTION_MAKE_DATABASE) || !options_given(options, OPTION_DATABASE);
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct options *options = &app->session.options;
    if (is_made(app))
        snprintf(text, capacity, "%" PRIu64 " proteins made, seed %" PRIu64, options->make_database,
                 options->seed);
    else
        snprintf(text, capacity, "%.100s in %.100s", options->queries, options->database);
}

// A name that nothing else has, the same on every rank: in the storage, or in the current folder.
static void name_temporary(const struct app *app, char name[OPTIONS_PATH_CAPACITY])
{
    struct trouble trouble = {0};
    const char *storage = getenv("FISHPLATE_STORAGE");
    uint64_t mark = (uint64_t)(MPI_Wtime() * 1e6) ^ (uint64_t)time(NULL) << 20;
    if (app->session.rank == 0) {
        bool given = storage != NULL && storage[0] != '\0';
        int length = snprintf(name, OPTIONS_PATH_CAPACITY, "%s%ssequence_search-%016" PRIx64 ".fasta",
                              given ? storage : "", given ? "/" : "", mark);
        if (given && strstr(storage, "://") != NULL)
            trouble_note(&trouble, "FISHPLATE_STORAGE: '%.100s'; MPI-IO reads folders only: allowed "
                                   "are a folder, or --database and --queries", storage);
        else if (length >= OPTIONS_PATH_CAPACITY)
            trouble_note(&trouble, "FISHPLATE_STORAGE: longer than %d bytes", OPTIONS_PATH_CAPACITY);
    }
    trouble_end(&app->session, &trouble);
    MPI_Bcast(name, OPTIONS_PATH_CAPACITY, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void make_files(struct app *app)
{
    const struct options *options = &app->session.options;
    char name[OPTIONS_PATH_CAPACITY];
    bool temporary = options->database[0] == '\0';
    if (temporary)
        name_temporary(app, name);
    struct trouble trouble = {0};
    if (app->session.rank == 0) {
        files_check_absent(options->database, &trouble);
        files_check_absent(options->queries, &trouble);
    }
    trouble_end(&app->session, &trouble);
    state.recipe = (struct recipe){options->seed, options->make_database,
                                   (int)options->make_queries};
    queries_make(&state.queries, &app->session, &state.recipe, options->queries);
    database_make(&state.database, &app->session, &state.recipe,
                  temporary ? name : options->database, temporary);
}

static void create(struct app *app)
{
    const struct options *options = &app->session.options;
    state.output = output_open(&app->session);
    if (is_made(app)) {
        make_files(app);
    } else {
        queries_read(&state.queries, &app->session, options->queries);
        database_open(&state.database, &app->session, options->database);
    }
    int fragments = FRAGMENTS_PER_RANK * app->session.ranks;
    if (options_given(options, OPTION_FRAGMENTS))
        fragments = (int)options->fragments;
    database_index(&state.database, &app->session, fragments);
}

static void prepare(struct app *app)
{
    hits_destroy(&state.hits);
    database_forget(&state.database, &app->session);
}

static void run(struct app *app)
{
    state.worker = worker_create(&state.database, &state.queries);
    master_run(&state.worker, app->session.rank, app->session.ranks, &state.hits);
    worker_destroy(&state.worker);
}

static void verify(struct app *app)
{
    struct verification found = {.same = true, .none_better = true, .copies_best = true};
    const struct recipe *recipe = is_made(app) ? &state.recipe : NULL;
    if (app->session.rank == 0)
        found = verification_of(&state.hits, &state.database, &state.queries, recipe);
    state.verification = found;
    app_expect_true(app, "pairs searched alone", found.same);
    app_expect_true(app, "none above the best", found.none_better);
    if (!is_made(app))
        return;
    // On every rank the same number of findings.
    int copies = recipe_copies(recipe);
    app_expect(app, "copies found", app->session.rank == 0 ? found.copies_found : copies, copies,
               0.0);
    app_expect_true(app, "copies' best scores", found.copies_best);
}

static void tell(const struct app *app)
{
    (void)app;
    const struct database *database = &state.database;
    printf("Proteins             %12" PRId64 "    %" PRId64 " amino acids in %d fragments\n",
           database->totals.proteins, database->totals.residues, database->fragment_count);
    printf("Hits                 %12zu    of %zu queries, checksum %016" PRIx64 "\n",
           state.hits.count, state.queries.proteins.count, hits_checksum(&state.hits));
    printf("Pairs verified       %12d\n", state.verification.pairs);
}

static void save(struct app *app, struct trouble *trouble)
{
    if (state.output == NULL)
        return;
    for (size_t i = 0; i < state.hits.count; i++) {
        const struct hit *hit = &state.hits.items[i];
        const struct protein *query = &state.queries.proteins.items[hit->query];
        hits_print(&state.hits, hit, query->name, query->name_length, state.output);
    }
    output_close(state.output, &app->session, trouble);
}

static void destroy(struct app *app)
{
    (void)app;
    hits_destroy(&state.hits);
    queries_destroy(&state.queries);
    database_close(&state.database);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "sequence_search",
        .purpose = "proteins like others, by seed and extension; run time in s",
        .takes = APP_TAKES | OPTION_BIT(OPTION_DATABASE) | OPTION_BIT(OPTION_QUERIES)
            | OPTION_BIT(OPTION_MAKE_DATABASE) | OPTION_BIT(OPTION_MAKE_QUERIES)
            | OPTION_BIT(OPTION_FRAGMENTS)
            | OPTION_BIT(OPTION_OUTPUT) | OPTION_BIT(OPTION_SEED),
    },
    .describe = describe,
    .create = create,
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .tell = tell,
    .save = save,
    .destroy = destroy,
};
