// The statistics of scores: Karlin and Altschul, "Methods for assessing the statistical
// significance of molecular sequence features by using general scoring schemes" (1990).
#ifndef FISHPLATE_APPS_KARLIN_H
#define FISHPLATE_APPS_KARLIN_H

#include "residues.h"

#include <stdbool.h>

struct karlin {
    double lambda, k, h;
};

// For alignments with gaps, of which the first residue costs 12 and each further one 1: as
// published for BLOSUM62 with BLAST.
extern const struct karlin karlin_gapped;

// For alignments without gaps of this protein with others of usual composition. That of
// proteins of usual composition where the protein has no statistics of its own.
struct karlin karlin_ungapped(const residue *protein, int length);

// The same for given frequencies of residues, in sum 1. False when scores are not negative in
// the mean, or none is positive.
bool karlin_of(const double frequencies[RESIDUES], struct karlin *karlin);

// What a query is searched in, without the ends of proteins, where no alignment begins.
double karlin_search_space(int64_t query_length, int64_t residues, int64_t proteins);

double karlin_bits(const struct karlin *karlin, int score);
double karlin_evalue(const struct karlin *karlin, int score, double search_space);

// The least score that is expected no more than `evalue` times.
int karlin_score(const struct karlin *karlin, double evalue, double search_space);

#endif
