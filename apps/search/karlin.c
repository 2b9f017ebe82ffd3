#include "karlin.h"

#include <math.h>
#include <string.h>

const struct karlin karlin_gapped = {0.267, 0.041, 0.14};

// How the mean length of alignments with gaps grows with the logarithm of the search space
// (Altschul, Bundschuh, Olsen and Hwa, "The estimation of statistical parameters for local
// alignment score distributions", 2001).
static const double alpha = 1.9, beta = -30.0;

// Scores of BLOSUM62.
enum { LEAST = -4, GREATEST = 11, SCORES = GREATEST - LEAST + 1 };

// A pair of residues has the score LEAST + i with the probability p[i].
struct distribution {
    double p[SCORES];
};

static struct distribution distribution_of(const double frequencies[RESIDUES])
{
    struct distribution distribution = {{0}};
    double sum = 0.0;
    for (int b = 0; b < AMINO_ACIDS; b++)
        sum += robinson_frequencies[b];
    for (int a = 0; a < RESIDUES; a++)
        for (int b = 0; b < AMINO_ACIDS; b++)
            distribution.p[blosum62[a][b] - LEAST] +=
                frequencies[a] * robinson_frequencies[b] / sum;
    return distribution;
}

// The sum of p e^(lambda score) - 1, which is 0 at 0 and at lambda.
static double excess(const struct distribution *distribution, double lambda)
{
    double sum = -1.0;
    for (int i = 0; i < SCORES; i++)
        sum += distribution->p[i] * exp(lambda * (LEAST + i));
    return sum;
}

static double find_lambda(const struct distribution *distribution)
{
    double low = 1e-6, high = 0.5;
    while (excess(distribution, high) < 0.0)
        high *= 2.0;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2.0;
        if (excess(distribution, middle) < 0.0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2.0;
}

// The sum, over sums of 1, 2, 3 ... scores, of the probability that they are not negative and
// of e^(lambda sum) where they are, each divided by the number of scores.
static double find_sigma(const struct distribution *distribution, double lambda)
{
    enum { MOST = 120 };
    static double sums[MOST * SCORES], next[MOST * SCORES];
    const double enough = 1e-6;
    double sigma = 0.0;
    int width = 1; // sums[i] is of the sum j LEAST + i
    sums[0] = 1.0;
    for (int j = 1; j < MOST; j++) {
        memset(next, 0, sizeof(double) * (size_t)(width + SCORES - 1));
        for (int i = 0; i < width; i++)
            for (int s = 0; s < SCORES; s++)
                next[i + s] += sums[i] * distribution->p[s];
        width += SCORES - 1;
        memcpy(sums, next, sizeof(double) * (size_t)width);
        double part = 0.0;
        for (int i = 0; i < width; i++) {
            int score = j * LEAST + i;
            part += sums[i] * (score < 0 ? exp(lambda * score) : 1.0);
        }
        sigma += part / j;
        if (part / j < enough)
            break;
    }
    return sigma;
}

bool karlin_of(const double frequencies[RESIDUES], struct karlin *karlin)
{
    struct distribution distribution = distribution_of(frequencies);
    double mean = 0.0, positive = 0.0;
    for (int i = 0; i < SCORES; i++) {
        mean += distribution.p[i] * (LEAST + i);
        positive += LEAST + i > 0 ? distribution.p[i] : 0.0;
    }
    if (mean >= 0.0 || positive <= 0.0)
        return false;
    double lambda = find_lambda(&distribution), weighted = 0.0;
    for (int i = 0; i < SCORES; i++)
        weighted += distribution.p[i] * (LEAST + i) * exp(lambda * (LEAST + i));
    // Scores are whole numbers without a common divisor.
    double k = exp(-2.0 * find_sigma(&distribution, lambda)) / (weighted * -expm1(-lambda));
    *karlin = (struct karlin){lambda, k, lambda * weighted};
    return true;
}

static struct karlin usual(void)
{
    double frequencies[RESIDUES] = {0}, sum = 0.0;
    for (int a = 0; a < AMINO_ACIDS; a++)
        sum += robinson_frequencies[a];
    for (int a = 0; a < AMINO_ACIDS; a++)
        frequencies[a] = robinson_frequencies[a] / sum;
    struct karlin karlin = {0};
    karlin_of(frequencies, &karlin);
    return karlin;
}

struct karlin karlin_ungapped(const residue *protein, int length)
{
    double frequencies[RESIDUES] = {0};
    int counted = 0;
    // What is no certain amino acid says nothing about the composition.
    for (int i = 0; i < length; i++)
        counted += protein[i] < AMINO_ACIDS;
    for (int i = 0; i < length; i++)
        if (protein[i] < AMINO_ACIDS)
            frequencies[protein[i]] += 1.0 / counted;
    struct karlin karlin;
    return counted > 0 && karlin_of(frequencies, &karlin) ? karlin : usual();
}

// What an alignment takes of each sequence in the mean, when so much is taken off already.
static double mean_length(double query, double residues, double proteins, double taken)
{
    double space = (query - taken) * (residues - proteins * taken);
    return alpha / karlin_gapped.lambda * log(karlin_gapped.k * space) + beta;
}

double karlin_search_space(int64_t query_length, int64_t residues, int64_t proteins)
{
    double m = (double)query_length, n = (double)residues, each = (double)proteins;
    double least = fmax(m, n) / karlin_gapped.k; // space that must be left
    // The greatest whole number that is no more than the mean length which follows from it.
    int64_t low = 0, high = query_length;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        double taken = (double)middle, left = n - each * taken;
        bool fits = left > 0.0 && (m - taken) * left >= least
            && mean_length(m, n, each, taken) >= taken;
        if (fits)
            low = middle;
        else
            high = middle - 1;
    }
    return (m - (double)low) * (n - each * (double)low);
}

double karlin_bits(const struct karlin *karlin, int score)
{
    return (karlin->lambda * score - log(karlin->k)) / log(2.0);
}

double karlin_evalue(const struct karlin *karlin, int score, double search_space)
{
    return search_space * karlin->k * exp(-karlin->lambda * score);
}

int karlin_score(const struct karlin *karlin, double evalue, double search_space)
{
    return (int)ceil(log(karlin->k * search_space / evalue) / karlin->lambda);
}
