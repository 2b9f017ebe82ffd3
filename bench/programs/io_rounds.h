// Rounds in which all ranks move bytes to or from one file at once.
#ifndef FISHPLATE_BENCH_IO_ROUNDS_H
#define FISHPLATE_BENCH_IO_ROUNDS_H

#include "buffer.h"
#include "io.h"

struct io_rounds {
    struct io *io;
    struct io_file file;
    struct buffer buffer; // of this rank's bytes
    size_t size; // of what a rank moves in a round
    bool writes; // else it reads

    // What is done with this rank's bytes; moving them is what is measured.
    void (*move)(struct io_rounds *rounds);
    void (*fill)(struct io_rounds *rounds);
    void (*poison)(struct io_rounds *rounds);
    void (*verify)(struct io_rounds *rounds);

    // Called when the file is open. NULL: nothing to do.
    void (*opened)(struct io_rounds *rounds);
};

// Makes the file, measures what the operation asks for, removes all; the exit code.
int io_rounds_program(struct io *io, struct io_rounds *rounds, struct benchmark *benchmark);

#endif
