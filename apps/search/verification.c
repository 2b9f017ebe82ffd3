#include "verification.h"

#include "buffer.h" // allocate
#include "smith_waterman.h"

#include <stdlib.h>

// To try all alignments takes longer than the search.
enum { MOST_PAIRS = 500 };

// Whether the protein is one of the recipe's copies of that query.
static bool is_copy_of_query(const struct recipe *recipe, const struct hit *hit)
{
    int copy = recipe != NULL ? recipe_copy_at(recipe, (uint64_t)hit->protein) : -1;
    return copy >= 0 && copy / RECIPE_COPIES == hit->query;
}

static bool same_hits(const struct hit *some, size_t count, const struct hits *others)
{
    if (others->count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct alignment *a = &some[i].alignment, *b = &others->items[i].alignment;
        if (a->score != b->score || a->query_start != b->query_start
            || a->query_end != b->query_end || a->subject_start != b->subject_start
            || a->subject_end != b->subject_end || a->columns != b->columns
            || a->identities != b->identities || a->gaps != b->gaps)
            return false;
    }
    return true;
}

// Looks at the hits of one query in one protein, which is read again.
static void verify_pair(struct verification *verification, const struct hit *hits, size_t count,
                        const struct database *database, const struct queries *queries,
                        bool is_copy)
{
    struct trouble trouble = {0};
    struct proteins proteins = {0};
    char *text = allocate((size_t)hits->bytes), message[FASTA_MESSAGE_CAPACITY];
    bool read = database_read(database, hits->offset, hits->bytes, text, &trouble)
        && fasta_read(&proteins, text, (size_t)hits->bytes, hits->offset, message);
    if (!read || proteins.count != 1) {
        verification->same = false;
        if (read)
            fasta_destroy(&proteins);
        free(text);
        return;
    }
    const struct protein *query = &queries->proteins.items[hits->query];
    const struct protein *protein = &proteins.items[0];
    struct pairwise *pairwise = allocate(sizeof *pairwise);
    struct hits alone = {0};
    pairwise_create(pairwise, query->residues, query->length, database->totals);
    worker_add_hits(pairwise, protein, hits, &alone);
    hits_sort(&alone);
    verification->same = verification->same && same_hits(hits, count, &alone);
    int best = smith_waterman(query->residues, query->length, protein->residues, protein->length);
    verification->none_better = verification->none_better && hits->best <= best;
    verification->copies_best = verification->copies_best && (!is_copy || hits->best == best);
    verification->pairs++;
    hits_destroy(&alone);
    pairwise_destroy(pairwise);
    free(pairwise);
    fasta_destroy(&proteins);
    free(text);
}

struct verification verification_of(const struct hits *hits, const struct database *database,
                                    const struct queries *queries, const struct recipe *recipe)
{
    struct verification verification = {
        .same = true,
        .none_better = true,
        .copies_best = true,
    };
    for (size_t first = 0, end; first < hits->count; first = end) {
        const struct hit *hit = &hits->items[first];
        for (end = first + 1; end < hits->count && hits->items[end].query == hit->query
                 && hits->items[end].protein == hit->protein;)
            end++;
        bool is_copy = is_copy_of_query(recipe, hit);
        verification.copies_found += is_copy;
        if (is_copy || verification.pairs < MOST_PAIRS)
            verify_pair(&verification, hit, end - first, database, queries, is_copy);
    }
    return verification;
}
