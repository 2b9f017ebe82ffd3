// Amino acids as small numbers, and how alike they are.
#ifndef FISHPLATE_APPS_RESIDUES_H
#define FISHPLATE_APPS_RESIDUES_H

#include <stdint.h>

typedef uint8_t residue;

// The twenty amino acids come first; then B (N or D), J (I or L), Z (Q or E), X (any) and *
// (stop).
enum { RESIDUES = 25, AMINO_ACIDS = 20 };

// In the order of their numbers.
extern const char residue_letters[RESIDUES + 1];

// The number of a letter of either case, or -1. U, selenocysteine, is taken for C, and O,
// pyrrolysine, for X, as blastp scores them.
int residue_of(char letter);

// BLOSUM62: S. and J. G. Henikoff, "Amino acid substitution matrices from protein blocks" (1992).
// B, J, Z and X as blastp has them.
extern const int8_t blosum62[RESIDUES][RESIDUES];

// How frequent the amino acids are: A. B. and L. R. Robinson, "Distribution of glutamine and
// asparagine residues and their near neighbors in peptides and proteins" (1991). Per mille.
extern const double robinson_frequencies[AMINO_ACIDS];

#endif
