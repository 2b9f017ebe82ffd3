// Atomic operations of all ranks but the last on words of 8 bytes of the last.
#ifndef FISHPLATE_BENCH_ATOMIC_H
#define FISHPLATE_BENCH_ATOMIC_H

#include "session.h"

enum atomic_kind { ATOMIC_FETCH_AND_OP, ATOMIC_COMPARE_AND_SWAP };

#define ATOMIC_TAKES (OPTIONS_MEASURE | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_COMPUTE))

// The whole program.
int atomic_program(const struct program *program, enum atomic_kind kind, int argc, char **argv);

#endif
