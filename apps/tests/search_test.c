#include "search_test.h"

#include "assignment.h"
#include "expect.h"
#include "fasta.h"
#include "hits.h"
#include "karlin.h"
#include "pairwise.h"
#include "recipe.h"
#include "smith_waterman.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool within(double value, double expected, double difference)
{
    return fabs(value - expected) <= difference;
}

static void test_residues(void)
{
    for (int a = 0; a < RESIDUES; a++)
        for (int b = 0; b < RESIDUES; b++)
            EXPECT(blosum62[a][b] == blosum62[b][a]);
    for (int a = 0; a < RESIDUES; a++)
        EXPECT(residue_of(residue_letters[a]) == a);
    EXPECT(residue_of('w') == residue_of('W') && residue_of('U') == residue_of('C'));
    EXPECT(residue_of('O') == residue_of('X'));
    EXPECT(residue_of('1') < 0 && residue_of('\0') < 0 && residue_of('-') < 0);
}

static void test_statistics(void)
{
    // As published for BLOSUM62 without gaps.
    double frequencies[RESIDUES] = {0}, sum = 0.0;
    for (int a = 0; a < AMINO_ACIDS; a++)
        sum += robinson_frequencies[a];
    EXPECT(within(sum, 1000.0, 0.05));
    for (int a = 0; a < AMINO_ACIDS; a++)
        frequencies[a] = robinson_frequencies[a] / sum;
    struct karlin karlin;
    EXPECT(karlin_of(frequencies, &karlin));
    EXPECT(within(karlin.lambda, 0.3176, 0.0001) && within(karlin.k, 0.134, 0.001));
    EXPECT(within(karlin.h, 0.4012, 0.001));
    // One amino acid that scores only with itself has none of its own; X has nothing at all.
    residue tryptophan[] = {17, 17, 17}, unknown[] = {23, 23};
    EXPECT(karlin_ungapped(unknown, 2).lambda > 0.3 && karlin_ungapped(tryptophan, 3).lambda > 0.0);

    // 11 bits more or less, 1000 times as likely.
    double space = karlin_search_space(300, 700000, 2000);
    EXPECT(space > 0.0 && space < 300.0 * 700000.0);
    int score = karlin_score(&karlin_gapped, 1e-3, space);
    EXPECT(karlin_evalue(&karlin_gapped, score, space) <= 1e-3);
    EXPECT(karlin_evalue(&karlin_gapped, score - 1, space) > 1e-3);
    EXPECT(within(karlin_bits(&karlin_gapped, 100), 43.1, 0.05));
    // So little that nothing can be taken off.
    EXPECT(near(karlin_search_space(5, 10, 1), 50.0));
}

static void test_words(void)
{
    residue query[12] = {0, 17, 3, 3, 9, 12, 23, 5, 4, 18, 18, 2};
    struct words words;
    words_create(&words, query, 12);
    bool right = true;
    for (int word = 0; word < WORDS; word++) {
        residue letters[] = {(residue)(word / RESIDUES / RESIDUES),
                             (residue)(word / RESIDUES % RESIDUES), (residue)(word % RESIDUES)};
        int at = words.starts[word];
        for (int i = 0; i + WORD_LENGTH <= 12; i++) {
            int score = 0;
            for (int k = 0; k < WORD_LENGTH; k++)
                score += blosum62[query[i + k]][letters[k]];
            bool same = memcmp(query + i, letters, WORD_LENGTH) == 0;
            if (score >= WORD_THRESHOLD || same)
                right = right && words.positions[at++] == i;
        }
        right = right && at == words.starts[word + 1];
    }
    EXPECT(right);
    words_destroy(&words);
}

static bool refused(const char *text, const char *why)
{
    struct proteins proteins;
    char message[FASTA_MESSAGE_CAPACITY] = "";
    bool read = fasta_read(&proteins, text, strlen(text), 100, message);
    if (read)
        fasta_destroy(&proteins);
    else if (strstr(message, why) == NULL)
        printf("%s\n", message);
    return !read && strstr(message, why) != NULL;
}

static void test_fasta(void)
{
    const char *text = "\n>one first of them\r\nMkv\r\n\r\nA-R\n>two\nW*";
    struct proteins proteins;
    char message[FASTA_MESSAGE_CAPACITY];
    EXPECT(fasta_read(&proteins, text, strlen(text), 0, message));
    EXPECT(proteins.count == 2 && proteins.residue_count == 7);
    EXPECT(proteins.items[0].length == 5 && proteins.items[0].name_length == 3);
    EXPECT(proteins.items[0].offset == 1 && proteins.items[0].residues[1] == residue_of('K'));
    EXPECT(strncmp(proteins.items[1].name, "two", 3) == 0 && proteins.items[1].length == 2);
    fasta_destroy(&proteins);
    EXPECT(refused("MKV\n", "byte 100 is before the first '>'"));
    EXPECT(refused(">a\nMK\n> \nMK\n", "the protein at byte 106 has no name"));
    EXPECT(refused(">a\n>b\nMK\n", "protein a has no amino acids"));
    EXPECT(refused(">a\001b\nM1\n", "protein a?b has byte 0x31, which is no amino acid"));
    // A '>' within a line begins nothing.
    EXPECT(fasta_next(">a>b\n>c", 7, 1, true) == 5 && fasta_next("x>\n", 3, 0, true) == 3);
}

// A protein of the recipe and a query; the text stays.
static void read_recipe(const struct recipe *recipe, struct text *text, struct proteins *proteins)
{
    char message[FASTA_MESSAGE_CAPACITY];
    recipe_add_query(recipe, 0, text);
    for (int copy = 0; copy < RECIPE_COPIES; copy++)
        recipe_add_protein(recipe, recipe_copy(recipe, copy), text);
    EXPECT(fasta_read(proteins, text->bytes, text->count, 0, message));
}

static void test_pairs(void)
{
    const struct recipe recipe = {7, 100, 8};
    EXPECT(recipe_queries(&recipe) == 8 && recipe_copies(&recipe) == 24);
    EXPECT(recipe_copies(&(struct recipe){1, 1, 8}) == 1);
    EXPECT(recipe_copies(&(struct recipe){1, 4, 8}) == 4);
    EXPECT(recipe_copies(&(struct recipe){1, 100, 2}) == 6);
    struct text text = {0}, again = {0};
    struct proteins proteins, others;
    read_recipe(&recipe, &text, &proteins);
    read_recipe(&recipe, &again, &others);
    EXPECT(text.count == again.count && memcmp(text.bytes, again.bytes, text.count) == 0);
    const struct protein *query = &proteins.items[0];
    struct pairwise *pairwise = malloc(sizeof *pairwise);
    pairwise_create(pairwise, query->residues, query->length, (struct totals){35000, 100});
    int before = 100000;
    for (int copy = 0; copy < RECIPE_COPIES; copy++) {
        const struct protein *protein = &proteins.items[1 + copy];
        pairwise_search(pairwise, protein->residues, protein->length);
        int best = smith_waterman(query->residues, query->length, protein->residues,
                                  protein->length);
        EXPECT(pairwise->count > 0 && pairwise->found[0].score == best && best < before);
        before = best;
    }
    // With itself: all of it, without gaps.
    pairwise_search(pairwise, query->residues, query->length);
    const struct alignment *whole = &pairwise->found[0];
    EXPECT(whole->columns == query->length && whole->identities == query->length);
    EXPECT(whole->gaps == 0 && whole->query_start == 0 && whole->subject_end == query->length);
    pairwise_destroy(pairwise);
    free(pairwise);
    fasta_destroy(&proteins);
    fasta_destroy(&others);
    text_destroy(&text);
    text_destroy(&again);
}

// Letters by hand: the alignment is known.
static void test_gaps(void)
{
    const char *first = "WWWWWWHHHHHHCCCCCC", *second = "WWWWWWCCCCCC";
    residue query[18], subject[12];
    for (int i = 0; i < 18; i++)
        query[i] = (residue)residue_of(first[i]);
    for (int i = 0; i < 12; i++)
        subject[i] = (residue)residue_of(second[i]);
    struct gapped_pair pair = {query, subject, 18, 12};
    struct gapped_room room = {0};
    // Six times 11, six times 9, one gap of six.
    int expected = 66 + 54 - GAP_OPEN - 6 * GAP_EXTEND;
    struct alignment alignment = gapped_trace(&pair, 2, 2, 60, &room);
    EXPECT(alignment.score == expected && alignment.columns == 18 && alignment.gaps == 1);
    EXPECT(alignment.gap_columns == 6 && alignment.identities == 12);
    EXPECT(gapped_score(&pair, 14, 8, 60, &room).score == expected);
    EXPECT(smith_waterman(query, 18, subject, 12) == expected);
    // Where the score may not drop so far, it ends before the gap.
    EXPECT(gapped_trace(&pair, 2, 2, 12, &room).score == 66);
    gapped_destroy(&room);
}

static void test_assignment(void)
{
    enum { FRAGMENTS = 5, QUERIES = 7, WORKERS = 3 };
    struct assignment assignment = assignment_create(FRAGMENTS, QUERIES, WORKERS);
    int times[FRAGMENTS][QUERIES] = {{0}}, changes = 0, units = 0, last = -1;
    struct unit unit;
    // The first worker asks more often than the others.
    for (int turn = 0; assignment_next(&assignment, turn % 4 % WORKERS, &unit); turn++) {
        times[unit.fragment][unit.query]++;
        units++;
        if (turn % 4 % WORKERS == 0) {
            changes += unit.fragment != last;
            last = unit.fragment;
        }
    }
    bool once = true;
    for (int i = 0; i < FRAGMENTS * QUERIES; i++)
        once = once && times[i / QUERIES][i % QUERIES] == 1;
    EXPECT(once && units == FRAGMENTS * QUERIES && changes <= FRAGMENTS);
    assignment_destroy(&assignment);
}

static void test_hits(void)
{
    struct hits some = {0}, all = {0};
    struct text message = {0};
    struct hit hit = {.protein = 4, .query = 1, .best = 50, .name_length = 3};
    hit.alignment.score = 50;
    hits_add(&some, &hit, "ten");
    hit.best = 70;
    hit.protein = 9;
    hits_add(&some, &hit, "six");
    hit.query = 0;
    hits_add(&all, &hit, "one");
    hits_pack(&some, &message);
    hits_unpack(&all, message.bytes);
    hits_sort(&all);
    EXPECT(all.count == 3 && all.items[0].query == 0 && all.items[1].protein == 9);
    EXPECT(strncmp(all.names.bytes + all.items[2].name, "ten", 3) == 0);
    EXPECT(hits_checksum(&all) != hits_checksum(&some));
    hits_destroy(&some);
    hits_destroy(&all);
    text_destroy(&message);
}

void test_search(void)
{
    test_residues();
    test_statistics();
    test_words();
    test_fasta();
    test_pairs();
    test_gaps();
    test_assignment();
    test_hits();
}
