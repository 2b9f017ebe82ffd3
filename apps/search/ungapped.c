#include "ungapped.h"

#include "buffer.h" // reallocate

#include <stdbool.h>
#include <stdlib.h>

struct diagonal {
    int last; // where in the subject the last word began, or how far an extension has come
    bool extended;
};

static void add(struct ungapped_list *list, struct ungapped item)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity * 2 + 16;
        list->items = reallocate(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = item;
}

// How far an extension goes, and what it adds to the score.
struct reach {
    int length, score;
    int seen; // residues looked at, until the score had dropped
};

static struct reach extend_left(const struct seeding *seeding, const residue *subject,
                                int query_end, int subject_end)
{
    struct reach reach = {0};
    int score = 0, most = query_end < subject_end ? query_end : subject_end;
    while (reach.seen < most) {
        reach.seen++;
        const int8_t *scores = blosum62[seeding->query[query_end - reach.seen]];
        score += scores[subject[subject_end - reach.seen]];
        if (score > reach.score) {
            reach.score = score;
            reach.length = reach.seen;
        }
        if (reach.score - score >= seeding->drop)
            break;
    }
    return reach;
}

// The score starts with what is on the left, and must not fall to nothing.
static struct reach extend_right(const struct seeding *seeding, const residue *subject,
                                 int subject_length, int query, int at, int score)
{
    struct reach reach = {.score = score};
    int query_left = seeding->query_length - query, subject_left = subject_length - at;
    int most = query_left < subject_left ? query_left : subject_left;
    while (reach.seen < most) {
        score += blosum62[seeding->query[query + reach.seen]][subject[at + reach.seen]];
        reach.seen++;
        if (score > reach.score) {
            reach.score = score;
            reach.length = reach.seen;
        }
        if (score <= 0 || reach.score - score >= seeding->drop)
            break;
    }
    return reach;
}

// The residue of the second word at which extensions in both directions start: behind the part
// of it that scores most.
static int pivot(const residue *query, const residue *subject)
{
    int score = 0, best = 0, length = 0;
    for (int i = 0; i < WORD_LENGTH; i++) {
        score += blosum62[query[i]][subject[i]];
        if (score > best) {
            best = score;
            length = i + 1;
        }
    }
    return length;
}

// Extends from the second word; to the right only if the left comes to the end of the first.
static void extend(const struct seeding *seeding, const residue *subject, int subject_length,
                   int query, int at, struct diagonal *diagonal, struct ungapped_list *found)
{
    int first_end = diagonal->last + WORD_LENGTH;
    int length = pivot(seeding->query + query, subject + at);
    int query_pivot = query + length, subject_pivot = at + length;
    struct reach left = extend_left(seeding, subject, query_pivot, subject_pivot);
    struct reach right = {0};
    bool joined = left.length >= subject_pivot - first_end;
    if (joined)
        right = extend_right(seeding, subject, subject_length, query_pivot, subject_pivot,
                             left.score);
    int score = right.score > left.score ? right.score : left.score;
    if (score >= seeding->cutoff)
        add(found, (struct ungapped){query_pivot - left.length, subject_pivot - left.length,
                                     left.length + right.length, score});
    diagonal->extended = joined;
    // Words that end within what was looked at are part of it.
    int seen_end = subject_pivot + (right.seen > 0 ? right.seen - 1 : 0);
    diagonal->last = joined ? seen_end - (WORD_LENGTH - 1) : at;
}

static void meet_word(const struct seeding *seeding, const residue *subject, int subject_length,
                      int query, int at, struct diagonal *diagonal, struct ungapped_list *found)
{
    if (diagonal->extended) {
        if (at < diagonal->last)
            return;
        *diagonal = (struct diagonal){at, false};
        return;
    }
    int distance = at - diagonal->last;
    if (distance >= UNGAPPED_WINDOW || query < distance) {
        diagonal->last = at;
        return;
    }
    // Words that overlap are no two.
    if (distance >= WORD_LENGTH)
        extend(seeding, subject, subject_length, query, at, diagonal, found);
}

static int compare(const void *first, const void *second)
{
    const struct ungapped *a = first, *b = second;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->subject != b->subject)
        return a->subject < b->subject ? -1 : 1;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->query > b->query) - (a->query < b->query);
}

static void clear(struct diagonals *diagonals, size_t count)
{
    if (diagonals->capacity < count) {
        diagonals->items = reallocate(diagonals->items, count * sizeof *diagonals->items);
        diagonals->capacity = count;
    }
    for (size_t i = 0; i < count; i++)
        diagonals->items[i] = (struct diagonal){-UNGAPPED_WINDOW, false};
}

void ungapped_find(const struct seeding *seeding, const residue *subject, int subject_length,
                   struct diagonals *diagonals, struct ungapped_list *found)
{
    found->count = 0;
    clear(diagonals, (size_t)seeding->query_length + (size_t)subject_length);
    const struct words *words = seeding->words;
    for (int at = 0; at + WORD_LENGTH <= subject_length; at++) {
        int word = word_at(subject + at);
        for (int i = words->starts[word]; i < words->starts[word + 1]; i++) {
            int query = words->positions[i];
            meet_word(seeding, subject, subject_length, query, at,
                      &diagonals->items[query - at + subject_length], found);
        }
    }
    // qsort takes no null pointer, not even for nothing.
    if (found->count > 0)
        qsort(found->items, found->count, sizeof *found->items, compare);
}

void ungapped_destroy(struct diagonals *diagonals, struct ungapped_list *found)
{
    free(diagonals->items);
    free(found->items);
    *diagonals = (struct diagonals){0};
    *found = (struct ungapped_list){0};
}
