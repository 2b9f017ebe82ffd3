#include "recipe.h"

#include "random.h"
#include "residues.h"

#include <inttypes.h>

// Streams of random numbers: one for each protein, from 0, and for each query.
#define QUERY_STREAM (UINT64_C(1) << 40)

// Lengths, from the least one.
enum {
    PROTEIN_LEAST = 50,
    PROTEIN_SPREAD = 600,
    QUERY_LEAST = 150,
    QUERY_SPREAD = 300,
    FLANK_LEAST = 20,
    FLANK_SPREAD = 60,
};

// Per mille of residues that are replaced, in each copy; lost or put in, in all.
static const uint64_t replaced[RECIPE_COPIES] = {100, 250, 400};
enum { MOVED = 10 };

int recipe_queries(const struct recipe *recipe)
{
    uint64_t room = (recipe->proteins + RECIPE_COPIES - 1) / RECIPE_COPIES;
    return room < (uint64_t)recipe->queries ? (int)room : recipe->queries;
}

int recipe_copies(const struct recipe *recipe)
{
    uint64_t copies = (uint64_t)recipe_queries(recipe) * RECIPE_COPIES;
    return (int)(copies < recipe->proteins ? copies : recipe->proteins);
}

uint64_t recipe_copy(const struct recipe *recipe, int copy)
{
    // Spread over the whole.
    return (uint64_t)copy * recipe->proteins / (uint64_t)recipe_copies(recipe);
}

int recipe_copy_at(const struct recipe *recipe, uint64_t number)
{
    for (int copy = 0; copy < recipe_copies(recipe); copy++)
        if (recipe_copy(recipe, copy) == number)
            return copy;
    return -1;
}

static char random_letter(struct random *random)
{
    // In hundredths of a per mille the frequencies are whole numbers, 100000 in sum.
    int64_t at = (int64_t)random_below(random, 100000);
    int number = 0;
    while (number < AMINO_ACIDS - 1) {
        at -= (int64_t)(robinson_frequencies[number] * 100.0 + 0.5);
        if (at < 0)
            break;
        number++;
    }
    return residue_letters[number];
}

static void add_random(struct random *random, uint64_t length, struct text *letters)
{
    for (uint64_t i = 0; i < length; i++) {
        char letter = random_letter(random);
        text_append(letters, &letter, 1);
    }
}

static void add_query_letters(const struct recipe *recipe, int number, struct text *letters)
{
    struct random random = random_stream(recipe->seed, QUERY_STREAM + (uint64_t)number);
    add_random(&random, QUERY_LEAST + random_below(&random, QUERY_SPREAD), letters);
}

static void add_mutated(struct random *random, const struct text *query, int copy,
                        struct text *letters)
{
    uint64_t rate = replaced[copy % RECIPE_COPIES];
    for (size_t i = 0; i < query->count; i++) {
        uint64_t chance = random_below(random, 1000);
        if (chance < MOVED)
            continue;
        if (chance < 2 * MOVED)
            add_random(random, 1, letters);
        if (random_below(random, 1000) < rate)
            add_random(random, 1, letters);
        else
            text_append(letters, &query->bytes[i], 1);
    }
}

static void add_lines(const struct text *letters, struct text *text)
{
    enum { LINE = 60 };
    for (size_t i = 0; i < letters->count; i += LINE) {
        size_t left = letters->count - i;
        text_append(text, letters->bytes + i, left < LINE ? left : LINE);
        text_append(text, "\n", 1);
    }
}

void recipe_add_protein(const struct recipe *recipe, uint64_t number, struct text *text)
{
    struct random random = random_stream(recipe->seed, number);
    struct text letters = {0};
    int copy = recipe_copy_at(recipe, number);
    if (copy < 0) {
        text_print(text, ">protein_%" PRIu64 "\n", number);
        add_random(&random, PROTEIN_LEAST + random_below(&random, PROTEIN_SPREAD), &letters);
    } else {
        struct text query = {0};
        int of = copy / RECIPE_COPIES;
        text_print(text, ">protein_%" PRIu64 " query_%d, %d %% replaced\n", number, of,
                   (int)replaced[copy % RECIPE_COPIES] / 10);
        add_query_letters(recipe, of, &query);
        add_random(&random, FLANK_LEAST + random_below(&random, FLANK_SPREAD), &letters);
        add_mutated(&random, &query, copy, &letters);
        add_random(&random, FLANK_LEAST + random_below(&random, FLANK_SPREAD), &letters);
        text_destroy(&query);
    }
    add_lines(&letters, text);
    text_destroy(&letters);
}

void recipe_add_query(const struct recipe *recipe, int number, struct text *text)
{
    struct text letters = {0};
    text_print(text, ">query_%d\n", number);
    add_query_letters(recipe, number, &letters);
    add_lines(&letters, text);
    text_destroy(&letters);
}
