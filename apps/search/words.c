#include "words.h"

#include "buffer.h" // allocate

#include <stdlib.h>
#include <string.h>

typedef void word_visitor(struct words *words, int word, int position);

// What a residue scores at most.
static int greatest_of(residue number)
{
    int greatest = blosum62[number][0];
    for (int other = 1; other < RESIDUES; other++)
        greatest = blosum62[number][other] > greatest ? blosum62[number][other] : greatest;
    return greatest;
}

// The neighbours of a query's word, and itself even if it scores less.
static void visit_neighbours(struct words *words, const residue *query, int position,
                             word_visitor *visit)
{
    const residue *at = query + position;
    const int8_t *first = blosum62[at[0]], *second = blosum62[at[1]], *third = blosum62[at[2]];
    // A word's first residues that leave too much for the others to score are not completed.
    int last = greatest_of(at[2]), last_two = greatest_of(at[1]) + last;
    int own = first[at[0]] + second[at[1]] + third[at[2]];
    if (own < WORD_THRESHOLD)
        visit(words, word_at(at), position);
    for (int a = 0; a < RESIDUES; a++) {
        if (first[a] + last_two < WORD_THRESHOLD)
            continue;
        for (int b = 0; b < RESIDUES; b++) {
            int score = first[a] + second[b];
            if (score + last < WORD_THRESHOLD)
                continue;
            for (int c = 0; c < RESIDUES; c++)
                if (score + third[c] >= WORD_THRESHOLD)
                    visit(words, (a * RESIDUES + b) * RESIDUES + c, position);
        }
    }
}

static void count(struct words *words, int word, int position)
{
    (void)position;
    words->starts[word + 1]++;
}

// Moves the starts, by one element each.
static void place(struct words *words, int word, int position)
{
    words->positions[words->starts[word]++] = position;
}

void words_create(struct words *words, const residue *query, int length)
{
    memset(words->starts, 0, sizeof words->starts);
    for (int i = 0; i + WORD_LENGTH <= length; i++)
        visit_neighbours(words, query, i, count);
    for (int word = 0; word < WORDS; word++)
        words->starts[word + 1] += words->starts[word];
    words->positions = allocate((size_t)words->starts[WORDS] * sizeof(int) + 1);
    for (int i = 0; i + WORD_LENGTH <= length; i++)
        visit_neighbours(words, query, i, place);
    // Each start is now where the next one was.
    memmove(words->starts + 1, words->starts, WORDS * sizeof(int));
    words->starts[0] = 0;
}

void words_destroy(struct words *words)
{
    free(words->positions);
    words->positions = NULL;
}
