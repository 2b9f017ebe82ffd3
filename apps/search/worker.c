#include "worker.h"

#include "buffer.h" // allocate
#include "karlin.h"

#include <stdlib.h>

struct worker worker_create(const struct database *database, const struct queries *queries)
{
    return (struct worker){.database = database, .queries = queries, .fragment = -1};
}

static void drop_fragment(struct worker *worker)
{
    fasta_destroy(&worker->proteins);
    free(worker->text);
    worker->text = NULL;
    worker->fragment = -1;
}

void worker_destroy(struct worker *worker)
{
    drop_fragment(worker);
}

static void read_fragment(struct worker *worker, int number)
{
    const struct fragment *fragment = &worker->database->fragments[number];
    struct trouble trouble = {0};
    char message[FASTA_MESSAGE_CAPACITY];
    drop_fragment(worker);
    worker->text = allocate((size_t)fragment->bytes + 1);
    // It was well formed when it was counted; it may have been changed since.
    if (database_read(worker->database, fragment->offset, fragment->bytes, worker->text, &trouble)
        && !fasta_read(&worker->proteins, worker->text, (size_t)fragment->bytes, fragment->offset,
                       message))
        trouble_note(&trouble, "%s: %s", worker->database->name, message);
    if (trouble_is(&trouble))
        session_abort(EXIT_FILE, "%s", trouble.text);
    worker->fragment = number;
}

void worker_add_hits(struct pairwise *pairwise, const struct protein *protein,
                     const struct hit *place, struct hits *hits)
{
    pairwise_search(pairwise, protein->residues, protein->length);
    for (size_t i = 0; i < pairwise->count; i++) {
        struct hit hit = *place;
        hit.alignment = pairwise->found[i];
        hit.evalue = karlin_evalue(&karlin_gapped, hit.alignment.score, pairwise->search_space);
        if (hit.evalue > PAIRWISE_EVALUE)
            continue;
        hit.bits = karlin_bits(&karlin_gapped, hit.alignment.score);
        hit.best = pairwise->found[0].score;
        hit.name_length = protein->name_length;
        hits_add(hits, &hit, protein->name);
    }
}

void worker_search(struct worker *worker, struct unit unit, struct hits *hits)
{
    if (worker->fragment != unit.fragment)
        read_fragment(worker, unit.fragment);
    const struct fragment *fragment = &worker->database->fragments[unit.fragment];
    const struct protein *query = &worker->queries->proteins.items[unit.query];
    struct pairwise *pairwise = allocate(sizeof *pairwise);
    pairwise_create(pairwise, query->residues, query->length, worker->database->totals);
    const struct proteins *proteins = &worker->proteins;
    for (size_t i = 0; i < proteins->count; i++) {
        size_t offset = proteins->items[i].offset;
        size_t end = i + 1 < proteins->count ? proteins->items[i + 1].offset
                                             : (size_t)fragment->bytes;
        struct hit place = {.protein = fragment->first + (int64_t)i,
                            .offset = fragment->offset + (int64_t)offset,
                            .bytes = (int64_t)(end - offset),
                            .query = unit.query};
        worker_add_hits(pairwise, &proteins->items[i], &place, hits);
    }
    pairwise_destroy(pairwise);
    free(pairwise);
}
