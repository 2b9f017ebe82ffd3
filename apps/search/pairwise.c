#include "pairwise.h"

#include "buffer.h" // allocate
#include "karlin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// In bits, as blastp has them: by how much a score may drop in an extension without gaps, in the
// first one with gaps and in the last one; and what calls for an extension with gaps.
static const double ungapped_drop = 7.0, first_drop = 15.0, last_drop = 25.0, trigger = 22.0;

static int drop_of(double bits)
{
    return (int)(bits * log(2.0) / karlin_gapped.lambda);
}

void pairwise_create(struct pairwise *pairwise, const residue *query, int length,
                     struct totals totals)
{
    memset(pairwise, 0, sizeof *pairwise);
    words_create(&pairwise->words, query, length);
    pairwise->search_space = karlin_search_space(length, totals.residues, totals.proteins);
    pairwise->cutoff = karlin_score(&karlin_gapped, PAIRWISE_EVALUE, pairwise->search_space);
    struct karlin own = karlin_ungapped(query, length);
    int triggering = (int)((trigger * log(2.0) + log(own.k)) / own.lambda);
    pairwise->seeding = (struct seeding){
        .words = &pairwise->words,
        .query = query,
        .query_length = length,
        .drop = (int)ceil(ungapped_drop * log(2.0) / own.lambda),
        .cutoff = triggering < pairwise->cutoff ? triggering : pairwise->cutoff,
    };
}

void pairwise_destroy(struct pairwise *pairwise)
{
    words_destroy(&pairwise->words);
    ungapped_destroy(&pairwise->diagonals, &pairwise->seeds);
    gapped_destroy(&pairwise->room);
    free(pairwise->found);
    pairwise->found = NULL;
}

// The middle of the eleven pairs in a row that score most.
static int middle_of(const residue *query, const residue *subject, int length)
{
    enum { ROW = 11 };
    if (length <= ROW)
        return length / 2;
    int score = 0;
    for (int i = 0; i < ROW; i++)
        score += blosum62[query[i]][subject[i]];
    int best = score, last = ROW - 1;
    for (int i = ROW; i < length; i++) {
        score += blosum62[query[i]][subject[i]] - blosum62[query[i - ROW]][subject[i - ROW]];
        if (score > best) {
            best = score;
            last = i;
        }
    }
    return last - ROW / 2;
}

static bool is_within(const struct alignment *inner, const struct alignment *outer)
{
    return inner->query_start >= outer->query_start && inner->query_end <= outer->query_end
        && inner->subject_start >= outer->subject_start
        && inner->subject_end <= outer->subject_end;
}

static bool is_within_any(const struct alignment *inner, const struct alignment *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_within(inner, &all[i]))
            return true;
    return false;
}

static bool begins_or_ends_as(const struct alignment *one, const struct alignment *other)
{
    return (one->query_start == other->query_start && one->subject_start == other->subject_start)
        || (one->query_end == other->query_end && one->subject_end == other->subject_end);
}

static int compare(const void *first, const void *second)
{
    const struct alignment *a = first, *b = second;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->subject_start != b->subject_start)
        return a->subject_start < b->subject_start ? -1 : 1;
    if (a->query_start != b->query_start)
        return a->query_start < b->query_start ? -1 : 1;
    return (a->query_end < b->query_end) - (a->query_end > b->query_end);
}

// Alignments by score alone, with the pair from which each was extended.
struct candidate {
    struct alignment alignment; // first, for `compare`
    int query, subject;
};

static void reserve(struct pairwise *pairwise)
{
    if (pairwise->seeds.count <= pairwise->capacity)
        return;
    pairwise->capacity = 2 * pairwise->seeds.count;
    pairwise->found = reallocate(pairwise->found, pairwise->capacity * sizeof *pairwise->found);
}

// From each seed that is not within an alignment of a better one. Returns how many.
static size_t extend_seeds(struct pairwise *pairwise, const struct gapped_pair *pair,
                           struct candidate *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < pairwise->seeds.count; i++) {
        const struct ungapped *seed = &pairwise->seeds.items[i];
        struct alignment alone = {.query_start = seed->query,
                                  .query_end = seed->query + seed->length,
                                  .subject_start = seed->subject,
                                  .subject_end = seed->subject + seed->length};
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = is_within(&alone, &candidates[k].alignment);
        if (known)
            continue;
        int middle = middle_of(pair->query + seed->query, pair->subject + seed->subject,
                               seed->length);
        struct candidate candidate = {.query = seed->query + middle,
                                      .subject = seed->subject + middle};
        candidate.alignment = gapped_score(pair, candidate.query, candidate.subject,
                                           drop_of(first_drop), &pairwise->room);
        if (candidate.alignment.score >= pairwise->cutoff)
            candidates[count++] = candidate;
    }
    return count;
}

// Keeps the better of those that begin or end alike, and none that is within a better one.
static void keep_distinct(struct pairwise *pairwise)
{
    size_t kept = 0;
    for (size_t i = 0; i < pairwise->count; i++) {
        const struct alignment *alignment = &pairwise->found[i];
        bool distinct = !is_within_any(alignment, pairwise->found, kept);
        for (size_t k = 0; k < kept && distinct; k++)
            distinct = !begins_or_ends_as(alignment, &pairwise->found[k]);
        if (distinct)
            pairwise->found[kept++] = *alignment;
    }
    pairwise->count = kept;
}

static void trace_candidates(struct pairwise *pairwise, const struct gapped_pair *pair,
                             const struct candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct candidate *candidate = &candidates[i];
        if (is_within_any(&candidate->alignment, pairwise->found, pairwise->count))
            continue;
        struct alignment alignment = gapped_trace(pair, candidate->query, candidate->subject,
                                                  drop_of(last_drop), &pairwise->room);
        if (alignment.score >= pairwise->cutoff)
            pairwise->found[pairwise->count++] = alignment;
    }
}

void pairwise_search(struct pairwise *pairwise, const residue *subject, int length)
{
    const struct seeding *seeding = &pairwise->seeding;
    pairwise->count = 0;
    ungapped_find(seeding, subject, length, &pairwise->diagonals, &pairwise->seeds);
    if (pairwise->seeds.count == 0)
        return;
    reserve(pairwise);
    struct gapped_pair pair = {seeding->query, subject, seeding->query_length, length};
    struct candidate *candidates = allocate(pairwise->seeds.count * sizeof *candidates);
    size_t count = extend_seeds(pairwise, &pair, candidates);
    if (count > 0)
        qsort(candidates, count, sizeof *candidates, compare);
    trace_candidates(pairwise, &pair, candidates, count);
    free(candidates);
    if (pairwise->count > 0)
        qsort(pairwise->found, pairwise->count, sizeof *pairwise->found, compare);
    keep_distinct(pairwise);
}
