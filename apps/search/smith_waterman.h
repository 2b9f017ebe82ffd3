// The best local alignment of two proteins, by trying all: what a search must not exceed.
// Smith and Waterman, "Identification of common molecular subsequences" (1981), with Gotoh's gaps.
#ifndef FISHPLATE_APPS_SMITH_WATERMAN_H
#define FISHPLATE_APPS_SMITH_WATERMAN_H

#include "residues.h"

int smith_waterman(const residue *first, int first_length, const residue *second,
                   int second_length);

#endif
